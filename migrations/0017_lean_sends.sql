-- Both halves of a send, step by step: a statement for each step, and only the steps that these sends need. One
-- statement that could do everything cost more to begin than to run. Plans as in 0016_deliveries.sql: made while a
-- table was empty, they may not read all of it once it has filled.

-- One send as it is given to prepare_sends.
create type send_item as (
  ord integer,
  company_id bigint,
  sender_id bigint,
  customer text,
  phone text,
  contact_source text,
  source_type text,
  needs_window boolean,
  needs_consent boolean,
  daily_limit integer,
  slot_seconds double precision, -- the time between two messages of the sender; null: it is not paced at all
  type text,
  text text,
  media jsonb,
  sender_name text,
  idempotency_id bigint
);

-- The same send and what was decided of it.
create type judged_send as (
  item send_item,
  thread text, -- the customer of its conversation
  is_outside boolean, -- of the 24-hour window
  last_inbound_at timestamptz,
  has_contact boolean,
  refusal text,
  retry_at timestamptz,
  wait_seconds double precision,
  slot_wait double precision
);

-- Which of these sends begin a conversation outside the window for the first time in 24 hours, and whether that is one
-- too many for the daily limit. Those that are not take their ordinals.
create function count_reach(sends judged_send[], at timestamptz)
returns judged_send[]
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  counted judged_send[];
begin
  with newly_reached as (
    select
      (send.item).company_id,
      (send.item).sender_id,
      send.thread,
      min((send.item).daily_limit) as daily_limit,
      row_number() over (partition by (send.item).company_id, (send.item).sender_id order by min((send.item).ord)) as place
    from unnest(sends) as send
    where send.refusal is null
      and send.is_outside
      and (send.item).daily_limit is not null
      and not exists (
        select
        from sender_reach reached
        where (reached.company_id, reached.sender_id, reached.customer)
            = ((send.item).company_id, (send.item).sender_id, send.thread)
          and reached.reached_at > at - interval '24 hours'
      )
    group by (send.item).company_id, (send.item).sender_id, send.thread
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
  moved as (
    update sender_reach_counts counts
    set reached = latest.ordinal
    from (
      select reach.company_id, reach.sender_id, max(reach.ordinal) as ordinal
      from reach
      where not reach.is_over
      group by reach.company_id, reach.sender_id
    ) as latest
    where (counts.company_id, counts.sender_id) = (latest.company_id, latest.sender_id)
  )
  select array_agg(
    (
      send.item, send.thread, send.is_outside, send.last_inbound_at, send.has_contact,
      coalesce(send.refusal, case when reach.is_over then 'limit' end),
      reach.retry_at, send.wait_seconds, send.slot_wait
    )::judged_send
  )
  into counted
  from unnest(sends) as send
  left join reach
    on (reach.company_id, reach.sender_id, reach.thread)
     = ((send.item).company_id, (send.item).sender_id, send.thread);
  return counted;
end
$$;

-- Looks at everything that decides whether each of these sends may go out now, but for the daily limit. A refused one
-- takes no turn. Turns are counted by the database's clock (present), the window by the caller's (at).
create function judge_sends(
  items send_item[],
  at timestamptz,
  present timestamptz,
  pair_seconds double precision,
  pair_burst integer,
  longest_wait double precision
)
returns judged_send[]
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  judged judged_send[];
begin
  with known as materialized (
    select
      item,
      coalesce(alias.customer, item.customer) as thread,
      conversation.last_inbound_at,
      conversation.next_message_at,
      coalesce(conversation.last_inbound_at <= at - interval '24 hours', true) as is_outside,
      identity.contact_id is not null as has_contact,
      case
        when consent.is_refused then 'consent'
        when item.needs_window and coalesce(conversation.last_inbound_at <= at - interval '24 hours', true) then 'window'
      end as refusal
    from unnest(items) as item
    -- Lateral with a limit: a probe of the index for each item, whatever the statistics say.
    left join lateral (
      select customer
      from customer_aliases known
      where (known.company_id, known.sender_id, known.alias) = (item.company_id, item.sender_id, item.customer)
      limit 1
    ) as alias on true
    left join lateral (
      select last_inbound_at, next_message_at
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
      select whatsapp_consent is false as is_refused
      from contacts known
      where item.needs_consent and (known.company_id, known.id) = (item.company_id, identity.contact_id)
      limit 1
    ) as consent on true
  ),
  paired as (
    select
      known.*,
      case
        when (item).slot_seconds is null then 0
        else greatest(0, extract(epoch from greatest(next_message_at, present) - present)::double precision
          + pair_seconds * (
            row_number() over (
              partition by (item).company_id, (item).sender_id, thread, refusal is null order by (item).ord
            ) - pair_burst
          ))
      end as pair_wait
    from known
  ),
  spaced as (
    select
      paired.*,
      case
        when (item).slot_seconds is null then 0
        else extract(epoch from greatest(counts.next_slot_at, present) - present)::double precision
          + (item).slot_seconds * (
            row_number() over (
              partition by (item).company_id, (item).sender_id, refusal is null and pair_wait <= longest_wait
              order by (item).ord
            ) - 1
          )
      end as slot_wait
    from paired
    left join sender_reach_counts counts
      on (counts.company_id, counts.sender_id) = ((item).company_id, (item).sender_id)
  )
  select array_agg(
    (
      item, thread, is_outside, last_inbound_at, has_contact,
      coalesce(refusal, case when greatest(pair_wait, slot_wait) > longest_wait then 'pace' end),
      null, greatest(pair_wait, slot_wait), slot_wait
    )::judged_send
  )
  into judged
  from spaced;
  return judged;
end
$$;

-- The first half of a send, for many sends at once: decides whether each may go out now, finds or makes contact and
-- conversation, and writes the pending message. One call is one transaction; it locks first and looks afterwards,
-- so what it decides holds across processes.
--
-- items: an array of send_item. pair_*: one customer gets pair_burst messages at once, then one per pair_seconds. An
-- item whose turn comes within longest_wait takes it and is told how long to wait; a later one is refused.
-- refusal: 'consent', 'window', 'limit' or 'pace'; a refused item has written nothing and taken no turn.
create or replace function prepare_sends(
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
as $$
#variable_conflict use_column
declare
  given send_item[];
  judged judged_send[];
  accepted judged_send[];
  present timestamptz;
begin
  select array_agg(item) into given from jsonb_populate_recordset(null::send_item, items) as item;

  perform lock_customers(array_agg(item.company_id), array_agg(item.customer)) from unnest(given) as item;
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
    perform resolve_contacts(jsonb_agg(jsonb_build_object(
      'company_id', (send.item).company_id, 'identity', (send.item).customer, 'phone', (send.item).phone,
      'source', (send.item).contact_source, 'source_type', (send.item).source_type
    ) order by (send.item).ord))
    from unnest(accepted) as send
    where not send.has_contact;
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
      last_text, last_direction, last_message_at, next_message_at, active_at, created_at, updated_at
    )
    select
      accepted.company_id, accepted.sender_id, accepted.thread, min(identity.contact_id), count(*),
      (array_agg(accepted.text order by accepted.ord desc))[1], 'outbound', at,
      present + make_interval(secs => pair_seconds * count(*)), at, at, at
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
    (send.item).ord, send.refusal, send.last_inbound_at, send.retry_at, send.wait_seconds,
    numbered.conversation_id, numbered.message_id
  from unnest(judged) as send
  left join numbered on numbered.ord = (send.item).ord;
end
$$;

-- The other half: what became of many sends at once; see settleSends in src/messages/message-store.ts.
--
-- items: [{company_id, message_id, status, wamid, provider_message_id, customer, error, idempotency_id, answer_status,
--          answer_body}]
create function settle_sends(items jsonb, at timestamptz)
returns void
language plpgsql
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
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

  if exists (select from jsonb_to_recordset(items) as outcome (customer text) where outcome.customer is not null) then
    insert into customer_aliases (company_id, sender_id, alias, customer)
    select distinct
      conversation.company_id,
      conversation.sender_id,
      case when known.id is null then outcome.customer else conversation.customer end,
      case when known.id is null then conversation.customer else outcome.customer end
    from jsonb_to_recordset(items) as outcome (company_id bigint, message_id bigint, customer text)
    join messages message on (message.company_id, message.id) = (outcome.company_id, outcome.message_id)
    join conversations conversation
      on (conversation.company_id, conversation.id) = (message.company_id, message.conversation_id)
    left join conversations known
      on (known.company_id, known.sender_id, known.customer)
       = (conversation.company_id, conversation.sender_id, outcome.customer)
    where outcome.customer <> conversation.customer
    on conflict do nothing;
  end if;

  if exists (
    select from jsonb_to_recordset(items) as outcome (idempotency_id bigint) where outcome.idempotency_id is not null
  ) then
    update idempotency_keys key
    set answer_status = outcome.answer_status, answer_body = outcome.answer_body
    from jsonb_to_recordset(items) as outcome (
      company_id bigint, idempotency_id bigint, answer_status smallint, answer_body text
    )
    where (key.company_id, key.id) = (outcome.company_id, outcome.idempotency_id);
  end if;
end
$$;
