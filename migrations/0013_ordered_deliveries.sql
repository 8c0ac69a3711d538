-- Deliveries about one conversation to an ordered registration go one after the other. One that waits for an earlier one is
-- no candidate of a claim.
alter table registrations add column ordered boolean not null default false;
alter table deliveries
  add column conversation_id bigint, -- of a delivery to an ordered registration
  add column waits_for bigint; -- the delivery that has to finish first
drop index deliveries_waiting;
create index deliveries_waiting on deliveries (lane, least(attempts, 1) desc, due_at, id)
  where status = 'pending' and failed_at is null and claim_id is null and waits_for is null;
create index deliveries_in_order on deliveries (company_id, registration_id, conversation_id, id)
  where status = 'pending' and conversation_id is not null;
create index deliveries_held_back on deliveries (waits_for) where waits_for is not null;
