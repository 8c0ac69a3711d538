-- A send and the decision about it.
create type send_decision as (
  item send_item,
  customer_key text, -- the identity under which its conversation is stored
  is_outside boolean, -- of the 24-hour window
  last_inbound_at timestamptz,
  has_contact boolean,
  refusal text,
  retry_at timestamptz,
  wait_seconds double precision,
  slot_wait double precision
);
