-- Inserts the messages and reactions among the new items of a batch. conversations: the conversations of the batch.
create function record_inbound_messages(
  items inbound_item[], matches inbound_match[], conversations recorded_conversation[], at timestamptz
)
returns table (ord integer, is_new boolean, conversation_id bigint, message_id bigint)
language plpgsql
as $$
#variable_conflict use_column
begin
  return query
  with entry as materialized (
    select
      ordered.*,
      case when ordered.is_new and ordered.kind <> 'reaction' then nextval('messages_id_seq') end as message_id
    from (
      select
        entry.*,
        recorded.conversation_id as own_conversation,
        recorded.messages_before + count(*) filter (where entry.is_new and entry.kind <> 'reaction') over upto as seq
      from rows from (unnest(items), unnest(matches)) as entry
      left join unnest(conversations) as recorded
        on entry.is_new
        and (recorded.company_id, recorded.sender_id, recorded.customer_key)
          = (entry.company_id, entry.sender_id, entry.customer_key)
      window upto as (partition by entry.company_id, entry.sender_id, entry.customer_key order by entry.ord)
      order by entry.ord -- ids grow in the order in which messages came
    ) as ordered
  ),
  message as (
    insert into messages (
      company_id, id, conversation_id, seq, direction, type, text, media, status, sender_name, wamid, is_echo,
      sent_at, created_at, updated_at
    )
    overriding system value
    select
      entry.company_id, entry.message_id, entry.own_conversation, entry.seq,
      case entry.kind when 'echo' then 'outbound' else 'inbound' end,
      entry.type, entry.text, entry.media,
      case entry.kind when 'echo' then 'sent' else 'received' end,
      entry.sender_name, entry.wamid, entry.kind = 'echo', to_timestamp(entry.sent), at, at
    from entry
    where entry.message_id is not null
  ),
  reaction as (
    insert into message_reactions (company_id, wamid, target_wamid, emoji, occurred_at)
    select
      entry.company_id, entry.wamid, entry.target_wamid, entry.emoji,
      to_timestamp(coalesce(entry.sent, entry.arrived))
    from entry
    where entry.is_new and entry.kind = 'reaction' and entry.wamid is not null and entry.target_wamid is not null
    order by entry.ord
  )
  select entry.ord, entry.is_new, entry.own_conversation, entry.message_id
  from entry;
end
$$;
