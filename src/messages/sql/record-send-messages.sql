-- Inserts the pending messages of accepted sends, and notes each on the Idempotency-Key of its request. threads: the
-- conversations of these sends.
create function record_send_messages(accepted judged_send[], threads recorded_thread[], at timestamptz)
returns table (ord integer, conversation_id bigint, message_id bigint)
language plpgsql
as $$
#variable_conflict use_column
begin
  return query
  with entry as materialized (
    select
      (send.item).*,
      thread.conversation_id,
      nextval('messages_id_seq') as message_id,
      thread.messages_before
        + row_number() over (partition by thread.company_id, thread.conversation_id order by (send.item).ord) as seq
    from unnest(accepted) as send
    join unnest(threads) as thread
      on (thread.company_id, thread.sender_id, thread.thread)
       = ((send.item).company_id, (send.item).sender_id, send.thread)
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
