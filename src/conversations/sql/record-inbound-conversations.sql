-- Creates or updates the conversations of a batch's new items, each once, and returns them.
-- before: the number of items in earlier calls of the same moment.
create function record_inbound_conversations(items inbound_item[], matches inbound_match[], before integer, at timestamptz)
returns recorded_conversation[]
language plpgsql
as $$
declare
  conversations recorded_conversation[];
begin
  with change as materialized (
    select * from sum_inbound_conversations(items, matches, before, at)
  ),
  updated as (
    update conversations kept
    set
      contact_id = change.contact_id,
      profile_name = coalesce(change.profile_name, kept.profile_name),
      status = case when change.is_written_to then 'open' else kept.status end,
      unread_messages = change.unread + case when change.is_answered then 0 else kept.unread_messages end,
      message_count = kept.message_count + change.entries,
      last_text = case when change.entries > 0 then change.last_text else kept.last_text end,
      last_direction = coalesce(change.last_direction, kept.last_direction),
      last_message_at = coalesce(change.last_message_at, kept.last_message_at),
      last_inbound_at = greatest(kept.last_inbound_at, change.last_inbound_at),
      updated_at = at
    from change
    where (kept.company_id, kept.id) = (change.company_id, change.conversation_id)
    returning kept.company_id, kept.sender_id, kept.customer, kept.id, kept.message_count - change.entries as messages_before,
      kept.status, kept.unread_messages > 0 as is_unread
  ),
  created as (
    insert into conversations as made (
      company_id, sender_id, customer, contact_id, profile_name, unread_messages, message_count, last_text,
      last_direction, last_message_at, last_inbound_at, created_at, updated_at
    )
    select
      change.company_id, change.sender_id, change.customer_key, change.contact_id, change.profile_name, change.unread,
      change.entries, change.last_text, change.last_direction, change.last_message_at, change.last_inbound_at,
      at, at
    from change
    where change.conversation_id is null
    returning made.company_id, made.sender_id, made.customer, made.id, 0::bigint as messages_before, made.status,
      made.unread_messages > 0 as is_unread
  ),
  written as materialized (
    select * from updated union all select * from created
  ),
  listed as (
    insert into conversation_activity as kept (company_id, conversation_id, active_at, sender_id, status, is_unread)
    select written.company_id, written.id, change.active_at, written.sender_id, written.status, written.is_unread
    from written
    join change
      on (change.company_id, change.sender_id, change.customer_key)
       = (written.company_id, written.sender_id, written.customer)
    on conflict (company_id, conversation_id) do update set
      active_at = greatest(kept.active_at, excluded.active_at), -- a slower clock never moves a conversation back
      status = excluded.status,
      is_unread = excluded.is_unread
  ),
  counted as (
    insert into conversation_counts as kept (company_id, total)
    select created.company_id, count(*)
    from created
    group by created.company_id
    order by created.company_id
    on conflict (company_id, writer) do update set total = kept.total + excluded.total
  )
  select array_agg(
    (written.company_id, written.sender_id, written.customer, written.id, written.messages_before)::recorded_conversation
  )
  into conversations
  from written;
  return conversations;
end
$$;
