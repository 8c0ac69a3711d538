-- The log of a registration is ordered by the time of the attempt, and read by outcome.
drop index delivery_attempts_failed;
create index delivery_attempts_failed on delivery_attempts (company_id, registration_id, sent_at, id)
  where error_message is not null;
create index delivery_attempts_delivered on delivery_attempts (company_id, registration_id, sent_at, id)
  where error_message is null;
create index delivery_attempts_dead on delivery_attempts (company_id, registration_id, sent_at, id) where dead_lettered;
drop index deliveries_logged;
create index deliveries_logged on deliveries (company_id, registration_id, sent_at, id) where sent_at is not null;
-- A redelivery walks deliveries_by_status.
drop index deliveries_not_logged;

-- The deadline of a delivery that was redelivered counts from then on.
alter table deliveries add column renewed_at timestamptz;

-- A registration without a success for days is paused. The times of the last attempts outlive the log.
alter table registrations
  add column active_since timestamptz not null default now(),
  add column paused_reason text check (paused_reason in ('no_success')),
  add column paused_at timestamptz,
  add column last_success_at timestamptz,
  add column last_failure_at timestamptz,
  add constraint registrations_paused_are_inactive check (
    (paused_at is null) = (paused_reason is null) and (paused_at is null or status = 'inactive')
  );
