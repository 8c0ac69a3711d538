-- A registration may name events about records, and may be limited to some connected numbers.
alter table registrations add column channel_ids bigint[] check (channel_ids <> '{}'); -- null: all numbers
create index registrations_of_record_events on registrations (company_id)
  where status = 'active' and deleted_at is null and events <> '{whatsapp.message.received}';
