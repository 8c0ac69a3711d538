-- A conversation to which a batch added items.
create type inbound_thread as (
  company_id bigint,
  sender_id bigint,
  thread text, -- its customer
  conversation_id bigint,
  entries_before bigint -- messages in it before the batch
);
