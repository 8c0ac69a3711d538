-- A due retry is claimed before a first attempt: the index of waiting deliveries has the retries of a lane first.
drop index deliveries_waiting;
create index deliveries_waiting on deliveries (lane, least(attempts, 1) desc, due_at, id)
  where status = 'pending' and failed_at is null and claim_id is null;
