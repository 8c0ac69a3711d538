-- A message by the provider's id of it.
create type message_key as (
  company_id bigint,
  wamid text
);
