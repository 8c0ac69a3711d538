-- A finished attempt and the next state of its delivery, as complete_attempts takes it.
create type completed_attempt as (
  company_id bigint,
  delivery_id bigint,
  claim_id uuid,
  round integer,
  attempt integer, -- 1 to 5
  status text, -- of the delivery afterwards
  wait_ms double precision, -- until the delivery is due again; null: it has ended
  status_code integer,
  response text,
  error_message text,
  duration_ms integer,
  sent_at timestamptz
);
