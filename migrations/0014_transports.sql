-- What three transports need: Gupshup's apps, secrets for webhooks that are not signed, statuses that come before their
-- message is known by the provider's id, and the pace of sending.

alter table senders
  add column app_id text,                -- the provider's app that holds the number; its events name it
  add column app_name text,              -- the same app as template events name it
  add column webhook_secret text,        -- encrypted; events about the number must bring it
  add column throughput_per_second integer check (throughput_per_second > 0), -- null: the provider's usual one
  add column is_shared_with_app boolean not null default false; -- also used in the phone app: a lower usual one

create index senders_by_app on senders (app_id) where app_id is not null and deleted_at is null;
create index senders_by_app_name on senders (app_name) where app_name is not null and deleted_at is null;
create index senders_with_webhook_secret on senders (company_id) where webhook_secret is not null and deleted_at is null;

alter table inbound_items add column app text;
create index inbound_items_by_app on inbound_items (app) where state = 'unroutable';

-- Statuses that name a message by the provider's own id before the send's answer is written: taken up again shortly,
-- and forgotten when nobody's message has that id.
create table waiting_statuses (
  company_id bigint not null references companies (id),
  id bigint generated always as identity,
  provider_message_id text not null,
  wamid text,
  status text, -- null: only the wamid is told
  error jsonb,
  occurred_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (company_id, id)
);

create index waiting_statuses_by_age on waiting_statuses (created_at);

-- The pace, as the moment from which the next message would be on time: of a sender, and of one customer's conversation.
alter table sender_reach_counts add column next_slot_at timestamptz;
alter table conversations add column next_message_at timestamptz;

-- The first half of a send, for many sends at once: decides whether each may go out now, finds or makes contact and
-- conversation, and writes the pending message. One call is one transaction; it locks first and looks afterwards,
-- so what it decides holds across processes.
--
-- items: [{ord, company_id, sender_id, customer, phone, contact_source, source_type, needs_window, needs_consent,
--          daily_limit, slot_seconds, type, text, media, sender_name, idempotency_id}]
-- slot_seconds: the time between two messages of the sender; null: it is not paced at all. pair_*: one customer gets
-- pair_burst messages at once, then one per pair_seconds. An item whose turn comes within longest_wait takes it and is
-- told how long to wait; a later one is refused. Turns are counted by the database's clock, which all processes share.
-- refusal: 'consent', 'window', 'limit' or 'pace'; a refused item has written nothing and taken no turn.
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
language plpgsql as $$
#variable_conflict use_column
declare
  present timestamptz;
begin
  perform lock_customers(array_agg(item.company_id), array_agg(item.customer))
  from jsonb_to_recordset(items) as item (company_id bigint, customer text);

  perform 1
  from sender_reach_counts counts
  where (counts.company_id, counts.sender_id) in (
    select item.company_id, item.sender_id
    from jsonb_to_recordset(items) as item (
      company_id bigint, sender_id bigint, daily_limit integer, slot_seconds double precision
    )
    where item.daily_limit is not null or item.slot_seconds is not null
  )
  order by counts.company_id, counts.sender_id
  for update;

  present := clock_timestamp();

  return query
  with item as materialized (
    select *
    from jsonb_to_recordset(items) as item (
      ord integer, company_id bigint, sender_id bigint, customer text, phone text, contact_source text,
      source_type text, needs_window boolean, needs_consent boolean, daily_limit integer, slot_seconds double precision,
      type text, text text, media jsonb, sender_name text, idempotency_id bigint
    )
  ),
  judged as materialized (
    select
      item.*,
      coalesce(alias.customer, item.customer) as thread,
      conversation.last_inbound_at,
      greatest(conversation.next_message_at, present) as pair_at,
      coalesce(conversation.last_inbound_at <= at - interval '24 hours', true) as outside,
      case
        when item.needs_consent and contact.whatsapp_consent is false then 'consent'
        when item.needs_window and coalesce(conversation.last_inbound_at <= at - interval '24 hours', true) then 'window'
      end as judgement
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
      select whatsapp_consent
      from contacts known
      where (known.company_id, known.id) = (item.company_id, identity.contact_id)
      limit 1
    ) as contact on true
  ),
  paired as materialized (
    select
      judged.*,
      case
        when judged.slot_seconds is null then 0
        else greatest(0, extract(epoch from judged.pair_at - present)::double precision + pair_seconds * (
          row_number() over (
            partition by judged.company_id, judged.sender_id, judged.thread, judged.judgement is null
            order by judged.ord
          ) - pair_burst
        ))
      end as pair_wait
    from judged
  ),
  spaced as materialized (
    select
      paired.*,
      case
        when paired.slot_seconds is null then 0
        else extract(epoch from greatest(counts.next_slot_at, present) - present)::double precision
          + paired.slot_seconds * (
            row_number() over (
              partition by paired.company_id, paired.sender_id,
                paired.judgement is null and paired.pair_wait <= longest_wait
              order by paired.ord
            ) - 1
          )
      end as slot_wait
    from paired
    left join sender_reach_counts counts using (company_id, sender_id)
  ),
  paced as materialized (
    select
      spaced.*,
      greatest(spaced.pair_wait, spaced.slot_wait) as wait_seconds,
      coalesce(
        spaced.judgement,
        case when greatest(spaced.pair_wait, spaced.slot_wait) > longest_wait then 'pace' end
      ) as refusal
    from spaced
  ),
  newly_reached as (
    select
      paced.company_id,
      paced.sender_id,
      paced.thread,
      min(paced.daily_limit) as daily_limit,
      row_number() over (partition by paced.company_id, paced.sender_id order by min(paced.ord)) as place
    from paced
    where paced.refusal is null
      and paced.outside
      and paced.daily_limit is not null
      and not exists (
        select
        from sender_reach reached
        where (reached.company_id, reached.sender_id, reached.customer)
            = (paced.company_id, paced.sender_id, paced.thread)
          and reached.reached_at > at - interval '24 hours'
      )
    group by paced.company_id, paced.sender_id, paced.thread
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
  accepted as materialized (
    select paced.*, reach.ordinal
    from paced
    left join reach using (company_id, sender_id, thread)
    where paced.refusal is null and reach.is_over is not true
  ),
  counted as (
    update sender_reach_counts counts
    set
      reached = coalesce(totals.reached, counts.reached),
      next_slot_at = coalesce(totals.next_slot_at, counts.next_slot_at)
    from (
      select
        accepted.company_id,
        accepted.sender_id,
        max(accepted.ordinal) as reached,
        present + make_interval(secs => max(accepted.slot_wait + accepted.slot_seconds)) as next_slot_at
      from accepted
      group by accepted.company_id, accepted.sender_id
    ) as totals
    where (counts.company_id, counts.sender_id) = (totals.company_id, totals.sender_id)
      and (totals.reached is not null or totals.next_slot_at is not null)
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
      last_text, last_direction, last_message_at, next_message_at, active_at, created_at, updated_at
    )
    select
      accepted.company_id, accepted.sender_id, accepted.thread, min(contact.contact_id), count(*),
      (array_agg(accepted.text order by accepted.ord desc))[1], 'outbound', at,
      present + make_interval(secs => pair_seconds * count(*)), at, at, at
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
    paced.ord,
    coalesce(paced.refusal, case when reach.is_over then 'limit' end),
    paced.last_inbound_at,
    reach.retry_at,
    paced.wait_seconds,
    numbered.conversation_id,
    numbered.message_id
  from paced
  left join reach using (company_id, sender_id, thread)
  left join numbered using (ord);
end
$$;
