-- A message or reaction of a customer, or of the business in its phone app: one item of a batch. `ord` is its place in
-- the batch.
create type inbound_item as (
  ord integer,
  company_id bigint,
  sender_id bigint,
  kind text, -- message | echo | reaction
  customer text, -- the customer's identity
  other text, -- the customer's second identity: a user id beside a phone number
  phone text,
  profile_name text,
  wamid text,
  type text,
  text text,
  media jsonb,
  target_wamid text, -- of the message that a reaction is about
  emoji text,
  sent double precision, -- epoch seconds by the provider's clock; null: unknown
  arrived double precision, -- epoch seconds by ours
  opens_window boolean,
  sender_name text
);
