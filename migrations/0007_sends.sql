-- The first half of a send, for many sends at once: decides whether each may go out now, finds or makes contact and
-- conversation, and writes the pending message. One call is one transaction; it locks first and looks afterwards,
-- so what it decides holds across processes.
--
-- items: [{ord, company_id, sender_id, customer, phone, contact_source, source_type, needs_window, needs_consent,
--          daily_limit, type, text, media, sender_name, idempotency_id}]
-- refusal: 'consent', 'window' or 'limit'; a refused item has written nothing.
create function prepare_sends(items jsonb, at timestamptz)
returns table (
  ord integer,
  refusal text,
  last_inbound_at timestamptz,
  retry_at timestamptz,
  conversation_id bigint,
  message_id bigint
)
language plpgsql as $$
#variable_conflict use_column
begin
  perform lock_customers(array_agg(item.company_id), array_agg(item.customer))
  from jsonb_to_recordset(items) as item (company_id bigint, customer text);

  perform 1
  from sender_reach_counts counts
  where (counts.company_id, counts.sender_id) in (
    select item.company_id, item.sender_id
    from jsonb_to_recordset(items) as item (company_id bigint, sender_id bigint, daily_limit integer)
    where item.daily_limit is not null
  )
  order by counts.company_id, counts.sender_id
  for update;

  return query
  with item as materialized (
    select *
    from jsonb_to_recordset(items) as item (
      ord integer, company_id bigint, sender_id bigint, customer text, phone text, contact_source text,
      source_type text, needs_window boolean, needs_consent boolean, daily_limit integer, type text, text text,
      media jsonb, sender_name text, idempotency_id bigint
    )
  ),
  judged as materialized (
    select
      item.*,
      coalesce(alias.customer, item.customer) as thread,
      conversation.last_inbound_at,
      coalesce(conversation.last_inbound_at <= at - interval '24 hours', true) as outside,
      case
        when item.needs_consent and contact.whatsapp_consent is false then 'consent'
        when item.needs_window and coalesce(conversation.last_inbound_at <= at - interval '24 hours', true) then 'window'
      end as refusal
    from item
    -- Lateral with a limit: a probe of the index for each item, whatever the statistics say. Those of a table that has
    -- just begun to fill make the planner read all of it.
    left join lateral (
      select customer
      from customer_aliases known
      where (known.company_id, known.sender_id, known.alias) = (item.company_id, item.sender_id, item.customer)
      limit 1
    ) as alias on true
    left join lateral (
      select last_inbound_at
      from conversations known
      where (known.company_id, known.sender_id) = (item.company_id, item.sender_id)
        and known.customer = coalesce(alias.customer, item.customer)
      limit 1
    ) as conversation on true
    left join lateral (
      select contact_id
      from contact_identities known
      where (known.company_id, known.identity) = (item.company_id, item.customer)
      limit 1
    ) as identity on true
    left join lateral (
      select whatsapp_consent
      from contacts known
      where (known.company_id, known.id) = (item.company_id, identity.contact_id)
      limit 1
    ) as contact on true
  ),
  newly_reached as (
    select
      judged.company_id,
      judged.sender_id,
      judged.thread,
      min(judged.daily_limit) as daily_limit,
      row_number() over (partition by judged.company_id, judged.sender_id order by min(judged.ord)) as place
    from judged
    where judged.refusal is null
      and judged.outside
      and judged.daily_limit is not null
      and not exists (
        select
        from sender_reach reached
        where (reached.company_id, reached.sender_id, reached.customer)
            = (judged.company_id, judged.sender_id, judged.thread)
          and reached.reached_at > at - interval '24 hours'
      )
    group by judged.company_id, judged.sender_id, judged.thread
  ),
  reach as materialized (
    select
      newly.*,
      counts.reached + newly.place as ordinal,
      coalesce(earlier.reached_at, at) + interval '24 hours' as retry_at,
      counts.reached + newly.place - newly.daily_limit > counts.forgotten
        and coalesce(earlier.reached_at > at - interval '24 hours', true) as is_over
    from newly_reached newly
    join sender_reach_counts counts using (company_id, sender_id)
    left join sender_reach earlier
      on (earlier.company_id, earlier.sender_id) = (newly.company_id, newly.sender_id)
      and earlier.ordinal = counts.reached + newly.place - newly.daily_limit
  ),
  recorded as (
    insert into sender_reach (company_id, sender_id, ordinal, customer, reached_at)
    select reach.company_id, reach.sender_id, reach.ordinal, reach.thread, at
    from reach
    where not reach.is_over
  ),
  counted as (
    update sender_reach_counts counts
    set reached = totals.reached
    from (
      select reach.company_id, reach.sender_id, max(reach.ordinal) as reached
      from reach
      where not reach.is_over
      group by reach.company_id, reach.sender_id
    ) as totals
    where (counts.company_id, counts.sender_id) = (totals.company_id, totals.sender_id)
  ),
  accepted as materialized (
    select judged.*
    from judged
    left join reach using (company_id, sender_id, thread)
    where judged.refusal is null and reach.is_over is not true
  ),
  contact as materialized (
    select *
    from resolve_contacts((
      select jsonb_agg(jsonb_build_object(
        'company_id', accepted.company_id, 'identity', accepted.customer, 'phone', accepted.phone,
        'source', accepted.contact_source, 'source_type', accepted.source_type
      ) order by accepted.ord)
      from accepted
    ))
  ),
  conversation as (
    insert into conversations as kept (
      company_id, sender_id, customer, contact_id, message_count,
      last_text, last_direction, last_message_at, active_at, created_at, updated_at
    )
    select
      accepted.company_id, accepted.sender_id, accepted.thread, min(contact.contact_id), count(*),
      (array_agg(accepted.text order by accepted.ord desc))[1], 'outbound', at, at, at, at
    from accepted
    join contact on (contact.company_id, contact.identity) = (accepted.company_id, accepted.customer)
    group by accepted.company_id, accepted.sender_id, accepted.thread
    order by 1, 2, 3
    on conflict (company_id, sender_id, customer) do update set
      contact_id = excluded.contact_id,
      message_count = kept.message_count + excluded.message_count,
      unread_messages = 0,
      last_text = excluded.last_text,
      last_direction = excluded.last_direction,
      last_message_at = excluded.last_message_at,
      active_at = excluded.active_at,
      updated_at = excluded.updated_at
    returning kept.company_id, kept.id, kept.sender_id, kept.customer, kept.message_count, xmax = 0 as is_new
  ),
  conversations_counted as (
    insert into conversation_counts as kept (company_id, total)
    select conversation.company_id, count(*)
    from conversation
    where conversation.is_new
    group by conversation.company_id
    order by conversation.company_id
    on conflict (company_id) do update set total = kept.total + excluded.total
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
    judged.ord,
    coalesce(judged.refusal, case when reach.is_over then 'limit' end),
    judged.last_inbound_at,
    reach.retry_at,
    numbered.conversation_id,
    numbered.message_id
  from judged
  left join reach using (company_id, sender_id, thread)
  left join numbered using (ord);
end
$$;
