-- A conversation to which a batch added messages.
create type recorded_conversation as (
  company_id bigint,
  sender_id bigint,
  customer_key text, -- the identity under which it is stored
  conversation_id bigint,
  messages_before bigint -- in it before the batch
);
