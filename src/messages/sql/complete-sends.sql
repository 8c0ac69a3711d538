-- The second half of a send: the outcomes of many sends at once; see completeSends in src/messages/message-store.ts.
--
-- items: [{company_id, message_id, status, wamid, provider_message_id, dialled, customer, error, idempotency_id,
--          answer_status, answer_body}]. idempotency_id: the key keeps the answer; without an answer nothing was sent, and the
--          key is released, so that the request can be repeated.
create function complete_sends(items jsonb, at timestamptz)
returns void
language plpgsql
set plan_cache_mode = force_generic_plan -- also of its steps: planning takes longer than running for few rows
-- Rows are joined by their keys: never by reading all of an index, as a plan made while the tables are empty would.
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  identified identified_send[];
begin
  update messages message
  set
    status = case
      when message_status_rank(outcome.status) > message_status_rank(message.status) then outcome.status
      else message.status
    end,
    error = case
      when message_status_rank(outcome.status) > message_status_rank(message.status) then nullif(outcome.error, 'null')
      else message.error
    end,
    wamid = coalesce(message.wamid, outcome.wamid),
    provider_message_id = coalesce(message.provider_message_id, outcome.provider_message_id),
    updated_at = at
  from jsonb_to_recordset(items) as outcome (
    company_id bigint, message_id bigint, status text, wamid text, provider_message_id text, error jsonb
  )
  where (message.company_id, message.id) = (outcome.company_id, outcome.message_id);

  select array_agg(outcome) into identified
  from jsonb_populate_recordset(null::identified_send, items) as outcome
  where outcome.customer is not null;
  if identified is not null then
    perform alias_recipients(identified, at);
  end if;

  if exists (
    select from jsonb_to_recordset(items) as outcome (idempotency_id bigint) where outcome.idempotency_id is not null
  ) then
    update idempotency_keys key
    set answer_status = outcome.answer_status, answer_body = outcome.answer_body
    from jsonb_to_recordset(items) as outcome (
      company_id bigint, idempotency_id bigint, answer_status smallint, answer_body text
    )
    where (key.company_id, key.id) = (outcome.company_id, outcome.idempotency_id)
      and outcome.answer_status is not null
      and key.answer_status is null;

    delete from idempotency_keys key
    using jsonb_to_recordset(items) as outcome (
      company_id bigint, message_id bigint, idempotency_id bigint, answer_status smallint
    )
    where (key.company_id, key.id) = (outcome.company_id, outcome.idempotency_id)
      and outcome.answer_status is null
      and key.answer_status is null
      and key.message_id = outcome.message_id;
  end if;
end
$$;
