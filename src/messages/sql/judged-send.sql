-- A send and the decision about it.
create type judged_send as (
  item send_item,
  thread text, -- the customer of its conversation
  is_outside boolean, -- of the 24-hour window
  last_inbound_at timestamptz,
  has_contact boolean,
  refusal text,
  retry_at timestamptz,
  wait_seconds double precision,
  slot_wait double precision
);
