-- The first half of a send, for many sends at once: decides whether each may go out now, finds or creates contact and
-- conversation, and writes the pending message. One call is one transaction. It locks first and looks afterwards, so its
-- decisions hold across processes.
--
-- items: an array of send_item. pair_*: one customer gets pair_burst messages at once, then one per pair_seconds. An item
-- whose slot comes within longest_wait takes it and is told how long to wait; a later one is refused.
-- refusal: 'consent', 'window', 'limit' or 'pace'; 'key': its Idempotency-Key was released or taken over; 'busy': another
-- transaction holds the lock of its customer. A refused item has written nothing and taken no slot.
create function prepare_sends(
  items jsonb,
  at timestamptz,
  pair_seconds double precision,
  pair_burst integer,
  longest_wait double precision
)
returns table (
  ord integer,
  refusal text,
  last_inbound_at timestamptz,
  retry_at timestamptz,
  wait_seconds double precision,
  conversation_id bigint,
  message_id bigint
)
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
-- One row that another session holds must not stop the sends of all companies.
set lock_timeout = '1s'
as $$
#variable_conflict use_column
declare
  given send_item[];
  keyless integer[];
  busy integer[];
  judged judged_send[];
  accepted judged_send[];
  present timestamptz;
begin
  with item as materialized (
    select * from jsonb_populate_recordset(null::send_item, items)
  ),
  standing as materialized (
    select key.company_id, key.id
    from idempotency_keys key
    where (key.company_id, key.id) in (select item.company_id, item.idempotency_id from item)
      and key.answer_status is null
      and key.message_id is null
    for update
  )
  select
    array_agg(item::send_item) filter (where item.idempotency_id is null or standing.id is not null),
    array_agg(item.ord) filter (where item.idempotency_id is not null and standing.id is null)
  into given, keyless
  from item
  left join standing on (standing.company_id, standing.id) = (item.company_id, item.idempotency_id);

  select
    array_agg(item) filter (where held.identity is not null),
    array_agg(item.ord) filter (where held.identity is null)
  into given, busy
  from unnest(given) as item
  left join (
    select held.company_id, held.identity
    from (
      select array_agg(item.company_id) as company_ids, array_agg(item.customer) as customers
      from unnest(given) as item
    ) as asked
    cross join lateral try_lock_customers(asked.company_ids, asked.customers) as held
  ) as held on (held.company_id, held.identity) = (item.company_id, item.customer);

  perform 1
  from sender_reach_counts counts
  where (counts.company_id, counts.sender_id) in (
    select item.company_id, item.sender_id
    from unnest(given) as item
    where item.daily_limit is not null or item.slot_seconds is not null
  )
  order by counts.company_id, counts.sender_id
  for update;

  present := clock_timestamp();
  judged := judge_sends(given, at, present, pair_seconds, pair_burst, longest_wait);
  if exists (
    select from unnest(judged) as send
    where send.refusal is null and send.is_outside and (send.item).daily_limit is not null
  ) then
    judged := count_reach(judged, at);
  end if;
  select array_agg(send) into accepted from unnest(judged) as send where send.refusal is null;
  if exists (select from unnest(accepted) as send where not send.has_contact) then
    perform resolve_contacts(array(
      select (
        (send.item).company_id, (send.item).customer, (send.item).phone, null, (send.item).contact_source,
        (send.item).source_type
      )::customer_contact
      from unnest(accepted) as send
      where not send.has_contact
      order by (send.item).ord
    ));
  end if;

  return query
  with accepted as materialized (
    select (send.item).*, send.thread, send.slot_wait
    from unnest(accepted) as send
  ),
  slot_taken as (
    update sender_reach_counts counts
    set next_slot_at = latest.next_slot_at
    from (
      select
        accepted.company_id,
        accepted.sender_id,
        present + make_interval(secs => max(accepted.slot_wait + accepted.slot_seconds)) as next_slot_at
      from accepted
      group by accepted.company_id, accepted.sender_id
    ) as latest
    where (counts.company_id, counts.sender_id) = (latest.company_id, latest.sender_id)
      and latest.next_slot_at is not null
  ),
  conversation as (
    insert into conversations as kept (
      company_id, sender_id, customer, contact_id, message_count,
      last_text, last_direction, last_message_at, next_message_at, created_at, updated_at
    )
    select
      accepted.company_id, accepted.sender_id, accepted.thread, min(identity.contact_id), count(*),
      (array_agg(accepted.text order by accepted.ord desc))[1], 'outbound', at,
      present + make_interval(secs => pair_seconds * count(*)), at, at
    from accepted
    join lateral (
      select contact_id
      from contact_identities known
      where (known.company_id, known.identity) = (accepted.company_id, accepted.customer)
      limit 1
    ) as identity on true
    group by accepted.company_id, accepted.sender_id, accepted.thread
    order by 1, 2, 3
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
    returning kept.company_id, kept.id, kept.sender_id, kept.customer, kept.message_count, xmax = 0 as is_new
  ),
  listed as (
    insert into conversation_activity as kept (company_id, conversation_id, active_at)
    select conversation.company_id, conversation.id, at
    from conversation
    on conflict (company_id, conversation_id) do update set active_at = excluded.active_at
    where kept.active_at < excluded.active_at -- a slower clock never moves a conversation back
  ),
  conversations_counted as (
    insert into conversation_counts as kept (company_id, total)
    select conversation.company_id, count(*)
    from conversation
    where conversation.is_new
    group by conversation.company_id
    order by conversation.company_id
    on conflict (company_id, writer) do update set total = kept.total + excluded.total
  ),
  numbered as materialized (
    select
      accepted.*,
      conversation.id as conversation_id,
      nextval('messages_id_seq') as message_id,
      conversation.message_count
        - count(*) over (partition by conversation.company_id, conversation.id)
        + row_number() over (partition by conversation.company_id, conversation.id order by accepted.ord) as seq
    from accepted
    join conversation
      on (conversation.company_id, conversation.sender_id, conversation.customer)
       = (accepted.company_id, accepted.sender_id, accepted.thread)
  ),
  message as (
    insert into messages (
      company_id, id, conversation_id, seq, direction, type, text, media, status, sender_name, sent_at, created_at,
      updated_at
    )
    overriding system value
    select
      numbered.company_id, numbered.message_id, numbered.conversation_id, numbered.seq, 'outbound', numbered.type,
      numbered.text, numbered.media, 'pending', numbered.sender_name, at, at, at
    from numbered
  ),
  begun as (
    update idempotency_keys key
    set message_id = numbered.message_id
    from numbered
    where (key.company_id, key.id) = (numbered.company_id, numbered.idempotency_id)
  )
  select
    (send.item).ord, send.refusal, send.last_inbound_at, send.retry_at, send.wait_seconds,
    numbered.conversation_id, numbered.message_id
  from unnest(judged) as send
  left join numbered on numbered.ord = (send.item).ord
  union all
  select ord, 'key', null, null, 0, null, null from unnest(keyless) as ord
  union all
  select ord, 'busy', null, null, 0, null, null from unnest(busy) as ord;
end
$$;
