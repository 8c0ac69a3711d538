-- One send as it is given to prepare_sends.
create type send_item as (
  ord integer,
  company_id bigint,
  sender_id bigint,
  customer text,
  phone text,
  contact_source text,
  source_type text,
  needs_window boolean,
  needs_consent boolean,
  daily_limit integer,
  slot_seconds double precision, -- the time between two messages of the sender; null: no throttle
  type text,
  text text,
  media jsonb,
  sender_name text,
  idempotency_id bigint
);
