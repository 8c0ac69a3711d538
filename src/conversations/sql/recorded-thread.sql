-- A conversation to which a batch added messages.
create type recorded_thread as (
  company_id bigint,
  sender_id bigint,
  thread text, -- its customer
  conversation_id bigint,
  messages_before bigint -- in it before the batch
);
