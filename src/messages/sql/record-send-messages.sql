-- Inserts the pending messages of accepted sends, and notes each on the Idempotency-Key of its request.
-- conversations: those of the sends.
create function record_send_messages(accepted send_decision[], conversations recorded_conversation[], at timestamptz)
returns table (ord integer, conversation_id bigint, message_id bigint)
language plpgsql
as $$
#variable_conflict use_column
begin
  return query
  with entry as materialized (
    select
      (send.item).*,
      recorded.conversation_id,
      nextval('messages_id_seq') as message_id,
      recorded.messages_before
        + row_number() over (partition by recorded.company_id, recorded.conversation_id order by (send.item).ord) as seq
    from unnest(accepted) as send
    join unnest(conversations) as recorded
      on (recorded.company_id, recorded.sender_id, recorded.customer_key)
       = ((send.item).company_id, (send.item).sender_id, send.customer_key)
  ),
  message as (
    insert into messages (
      company_id, id, conversation_id, seq, direction, type, text, media, status, sender_name, sent_at, created_at,
      updated_at
    )
    overriding system value
    select
      entry.company_id, entry.message_id, entry.conversation_id, entry.seq, 'outbound', entry.type, entry.text,
      entry.media, 'pending', entry.sender_name, at, at, at
    from entry
  ),
  started as (
    update idempotency_keys key
    set message_id = entry.message_id
    from entry
    where (key.company_id, key.id) = (entry.company_id, entry.idempotency_id)
  )
  select entry.ord, entry.conversation_id, entry.message_id
  from entry;
end
$$;
