-- Creates or updates the conversations of accepted sends, each once, and returns them. Every customer has a contact.
create function record_send_conversations(
  accepted send_decision[], at timestamptz, present timestamptz, pair_seconds double precision
)
returns recorded_conversation[]
language plpgsql
as $$
declare
  conversations recorded_conversation[];
begin
  with change as materialized (
    select
      (send.item).company_id,
      (send.item).sender_id,
      send.customer_key,
      min(identity.contact_id) as contact_id,
      count(*) as messages,
      (array_agg((send.item).text order by (send.item).ord desc))[1] as last_text
    from unnest(accepted) as send
    join lateral (
      select known.contact_id
      from contact_identities known
      where (known.company_id, known.identity) = ((send.item).company_id, (send.item).customer)
      limit 1
    ) as identity on true
    group by 1, 2, 3
  ),
  conversation as (
    insert into conversations as kept (
      company_id, sender_id, customer, contact_id, message_count, last_text, last_direction, last_message_at,
      next_message_at, created_at, updated_at
    )
    select
      change.company_id, change.sender_id, change.customer_key, change.contact_id, change.messages, change.last_text,
      'outbound', at, present + make_interval(secs => pair_seconds * change.messages), at, at
    from change
    order by change.company_id, change.sender_id, change.customer_key
    on conflict (company_id, sender_id, customer) do update set
      contact_id = excluded.contact_id,
      message_count = kept.message_count + excluded.message_count,
      unread_messages = 0,
      last_text = excluded.last_text,
      last_direction = excluded.last_direction,
      last_message_at = excluded.last_message_at,
      next_message_at = greatest(kept.next_message_at, present)
        + make_interval(secs => pair_seconds * excluded.message_count),
      updated_at = excluded.updated_at
    returning kept.company_id, kept.sender_id, kept.customer, kept.id, kept.message_count, kept.status, xmax = 0 as is_new
  ),
  listed as (
    insert into conversation_activity as kept (company_id, conversation_id, active_at, sender_id, status)
    select conversation.company_id, conversation.id, at, conversation.sender_id, conversation.status
    from conversation
    on conflict (company_id, conversation_id) do update
    -- A slower clock never moves a conversation back.
    set active_at = greatest(kept.active_at, excluded.active_at), status = excluded.status, is_unread = false
  ),
  counted as (
    insert into conversation_counts as kept (company_id, total)
    select conversation.company_id, count(*)
    from conversation
    where conversation.is_new
    group by conversation.company_id
    order by conversation.company_id
    on conflict (company_id, writer) do update set total = kept.total + excluded.total
  )
  select array_agg(
    (
      conversation.company_id, conversation.sender_id, conversation.customer, conversation.id,
      conversation.message_count - change.messages
    )::recorded_conversation
  )
  into conversations
  from conversation
  join change
    on (change.company_id, change.sender_id, change.customer_key)
     = (conversation.company_id, conversation.sender_id, conversation.customer);
  return conversations;
end
$$;
