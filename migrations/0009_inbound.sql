-- What providers post to us, and what becomes of it.

-- Raw events, as accepted: a row is here from the commit that allowed the answer 200 until the transaction that wrote
-- everything that follows from it. Global: the company is known only when the event is read. An event that speaks of
-- several numbers is here once for each, so that a lane holds all there is of a number, in order.
create table inbound_events (
  lane smallint not null, -- of the number's hash
  id bigint generated always as identity,
  part text not null default '',          -- the number whose items this row is about
  others text[] not null default '{}',    -- the event's other numbers, which have rows of their own
  body bytea not null,
  received_at timestamptz not null default now(),
  primary key (lane, id)
);

-- Items that could not be placed or processed, each alone, with the provider's JSON for it: put back among the events
-- when the number is connected or the operator asks.
create table inbound_items (
  id bigint generated always as identity primary key,
  state text not null check (state in ('unroutable', 'failed', 'unreadable')),
  reason text not null,
  phone_number_id text,
  waba_account_id text,
  body bytea not null,
  received_at timestamptz not null,
  created_at timestamptz not null default now()
);

create index inbound_items_by_state on inbound_items (state, id);
create index inbound_items_by_number on inbound_items (phone_number_id) where state = 'unroutable';
create index inbound_items_by_account on inbound_items (waba_account_id) where state = 'unroutable';

-- Every status that a provider reported of a message, once each.
create table message_status_events (
  company_id bigint not null,
  message_id bigint not null,
  status text not null,
  error jsonb,
  occurred_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (company_id, message_id, status),
  foreign key (company_id, message_id) references messages (company_id, id)
);

-- Reactions as facts; a message shows the latest one to it. A reaction may come before its message.
create table message_reactions (
  company_id bigint not null references companies (id),
  wamid text not null, -- the reaction's own
  target_wamid text not null,
  emoji text,          -- null: the reaction was removed
  occurred_at timestamptz not null,
  ordinal bigint generated always as identity,
  primary key (company_id, wamid)
);

create index message_reactions_by_target on message_reactions (company_id, target_wamid, occurred_at desc, ordinal desc);

-- Writes what customers and the business's own phone app wrote: contacts, conversations, messages, reactions. One
-- call is part of the transaction that removes the events; it locks first and looks afterwards.
--
-- items: [{ord, company_id, sender_id, kind: message | echo | reaction, customer, other, phone, profile_name, wamid,
--          type, text, media, target_wamid, emoji, sent_at, arrived_at, opens_window, sender_name, source_type}]
-- `other` is the customer's second identity (a user id beside a phone number). Answers one row per item, in any order:
-- is_new is false for what was here before. Within one call a customer's identities must not change: what is joined by an
-- item is known to the next call only.
create function record_inbound(items jsonb, at timestamptz)
returns table (ord integer, is_new boolean, conversation_id bigint, message_id bigint)
language plpgsql as $$
#variable_conflict use_column
begin
  perform lock_customers(array_agg(identity.company_id), array_agg(identity.customer))
  from (
    select item.company_id, unnest(array[item.customer, item.other]) as customer
    from jsonb_to_recordset(items) as item (company_id bigint, customer text, other text)
  ) as identity
  where identity.customer is not null;

  return query
  with given as materialized (
    select
      item.*,
      -- The first of equal wamids counts, and none that is here already.
      item.wamid is null or (
        row_number() over (partition by item.company_id, item.kind = 'reaction', item.wamid order by item.ord) = 1
        and known_message.id is null
        and known_reaction.ordinal is null
      ) as is_new
    from jsonb_to_recordset(items) as item (
      ord integer, company_id bigint, sender_id bigint, kind text, customer text, other text, phone text,
      profile_name text, wamid text, type text, text text, media jsonb, target_wamid text, emoji text,
      sent_at timestamptz, arrived_at timestamptz, opens_window boolean, sender_name text, source_type text
    )
    -- Lateral with a limit, here and below: a probe of the index for each item, whatever the statistics say. Those of
    -- a table that has just begun to fill make the planner read all of it.
    left join lateral (
      select known.id
      from messages known
      where item.kind <> 'reaction' and (known.company_id, known.wamid) = (item.company_id, item.wamid)
      limit 1
    ) as known_message on true
    left join lateral (
      select known.ordinal
      from message_reactions known
      where item.kind = 'reaction' and (known.company_id, known.wamid) = (item.company_id, item.wamid)
      limit 1
    ) as known_reaction on true
  ),
  item as materialized (
    select
      given.*,
      case
        when own.id is not null then own.customer
        when others.id is not null then others.customer
        else coalesce(alias.customer, given.customer)
      end as thread,
      case
        when own_contact.contact_id is null and other_contact.contact_id is not null then given.other
        else given.customer
      end as person
    from given
    left join lateral (
      select customer
      from customer_aliases known
      where (known.company_id, known.sender_id, known.alias) = (given.company_id, given.sender_id, given.customer)
      limit 1
    ) as alias on true
    left join lateral (
      select id, customer
      from conversations known
      where (known.company_id, known.sender_id) = (given.company_id, given.sender_id)
        and known.customer = coalesce(alias.customer, given.customer)
      limit 1
    ) as own on true
    left join lateral (
      select customer
      from customer_aliases known
      where (known.company_id, known.sender_id, known.alias) = (given.company_id, given.sender_id, given.other)
      limit 1
    ) as other_alias on true
    left join lateral (
      select id, customer
      from conversations known
      where (known.company_id, known.sender_id) = (given.company_id, given.sender_id)
        and known.customer = coalesce(other_alias.customer, given.other)
      limit 1
    ) as others on true
    left join lateral (
      select contact_id
      from contact_identities known
      where (known.company_id, known.identity) = (given.company_id, given.customer)
      limit 1
    ) as own_contact on true
    left join lateral (
      select contact_id
      from contact_identities known
      where (known.company_id, known.identity) = (given.company_id, given.other)
      limit 1
    ) as other_contact on true
    where given.is_new
  ),
  contact as materialized (
    select *
    from resolve_contacts((
      select jsonb_agg(jsonb_build_object(
        'company_id', item.company_id, 'identity', item.person, 'phone', item.phone,
        'source', 'WhatsApp', 'source_type', item.source_type
      ) order by item.ord)
      from item
    ))
  ),
  identified as (
    insert into contact_identities (company_id, identity, contact_id)
    select distinct on (item.company_id, identity.name) item.company_id, identity.name, contact.contact_id
    from item
    join contact on (contact.company_id, contact.identity) = (item.company_id, item.person)
    cross join lateral (values (item.customer), (item.other)) as identity (name)
    where identity.name is not null and identity.name <> item.person
    order by item.company_id, identity.name
    on conflict do nothing
  ),
  shown as (
    -- Who hid the phone and shows it now is no stranger's contact: nobody else has this number.
    update contacts kept
    set phone = person.phone, updated_at = at
    from (
      select distinct on (item.company_id, item.person) item.company_id, contact.contact_id, item.phone
      from item
      join contact on (contact.company_id, contact.identity) = (item.company_id, item.person)
      where item.person = item.other and item.phone is not null
      order by item.company_id, item.person, item.ord
    ) as person
    where (kept.company_id, kept.id) = (person.company_id, person.contact_id) and kept.phone is null
  ),
  aliased as (
    insert into customer_aliases (company_id, sender_id, alias, customer)
    select distinct on (item.company_id, item.sender_id, identity.name)
      item.company_id, item.sender_id, identity.name, item.thread
    from item
    cross join lateral (values (item.customer), (item.other)) as identity (name)
    where identity.name is not null and identity.name <> item.thread
    order by item.company_id, item.sender_id, identity.name, item.ord
    on conflict do nothing
  ),
  told as materialized (
    -- What a batch tells of each conversation. Unread counts from the last echo on; a reaction is no message.
    select
      item.company_id,
      item.sender_id,
      item.thread,
      min(contact.contact_id) as contact_id,
      count(*) filter (where item.kind <> 'reaction') as message_count,
      bool_or(item.kind = 'echo') as is_answered,
      bool_or(item.kind = 'message') as is_written_to,
      count(*) filter (where item.kind = 'message' and item.ord > coalesce(item.last_echo, -1)) as unread,
      (array_agg(item.profile_name order by item.ord desc) filter (where item.profile_name is not null))[1] as profile_name,
      (array_agg(item.text order by item.ord desc) filter (where item.kind <> 'reaction'))[1] as last_text,
      (
        array_agg(case item.kind when 'echo' then 'outbound' else 'inbound' end order by item.ord desc)
          filter (where item.kind <> 'reaction')
      )[1] as last_direction,
      (array_agg(coalesce(item.sent_at, item.arrived_at) order by item.ord desc) filter (where item.kind <> 'reaction'))[1] as last_message_at,
      max(least(item.sent_at, item.arrived_at, at)) filter (where item.opens_window) as last_inbound_at
    from (
      select
        item.*,
        max(item.ord) filter (where item.kind = 'echo') over (partition by item.company_id, item.sender_id, item.thread)
          as last_echo
      from item
    ) as item
    join contact on (contact.company_id, contact.identity) = (item.company_id, item.person)
    group by item.company_id, item.sender_id, item.thread
  ),
  changed as (
    update conversations kept
    set
      contact_id = told.contact_id,
      profile_name = coalesce(told.profile_name, kept.profile_name),
      status = case when told.is_written_to then 'open' else kept.status end,
      unread_messages = told.unread + case when told.is_answered then 0 else kept.unread_messages end,
      message_count = kept.message_count + told.message_count,
      last_text = case when told.message_count > 0 then told.last_text else kept.last_text end,
      last_direction = coalesce(told.last_direction, kept.last_direction),
      last_message_at = coalesce(told.last_message_at, kept.last_message_at),
      last_inbound_at = greatest(kept.last_inbound_at, told.last_inbound_at),
      active_at = at,
      updated_at = at
    from told
    where (kept.company_id, kept.sender_id, kept.customer) = (told.company_id, told.sender_id, told.thread)
    returning kept.company_id, kept.id, kept.sender_id, kept.customer, kept.message_count
  ),
  created as (
    insert into conversations as made (
      company_id, sender_id, customer, contact_id, profile_name, unread_messages, message_count, last_text,
      last_direction, last_message_at, last_inbound_at, active_at, created_at, updated_at
    )
    select
      told.company_id, told.sender_id, told.thread, told.contact_id, told.profile_name, told.unread, told.message_count,
      told.last_text, told.last_direction, told.last_message_at, told.last_inbound_at, at, at, at
    from told
    where not exists (
      select
      from conversations known
      where (known.company_id, known.sender_id, known.customer) = (told.company_id, told.sender_id, told.thread)
    )
    returning made.company_id, made.id, made.sender_id, made.customer, made.message_count
  ),
  conversation as (
    select * from changed union all select * from created
  ),
  counted as (
    insert into conversation_counts as kept (company_id, total)
    select created.company_id, count(*)
    from created
    group by created.company_id
    order by created.company_id
    on conflict (company_id) do update set total = kept.total + excluded.total
  ),
  numbered as materialized (
    select
      item.*,
      conversation.id as conversation_id,
      case when item.kind <> 'reaction' then nextval('messages_id_seq') end as message_id,
      conversation.message_count
        - count(*) filter (where item.kind <> 'reaction') over whole
        + count(*) filter (where item.kind <> 'reaction') over upto as seq
    from item
    join conversation
      on (conversation.company_id, conversation.sender_id, conversation.customer)
       = (item.company_id, item.sender_id, item.thread)
    window
      whole as (partition by conversation.company_id, conversation.id),
      upto as (partition by conversation.company_id, conversation.id order by item.ord)
  ),
  message as (
    insert into messages (
      company_id, id, conversation_id, seq, direction, type, text, media, status, sender_name, wamid, is_echo,
      sent_at, created_at, updated_at
    )
    overriding system value
    select
      numbered.company_id, numbered.message_id, numbered.conversation_id, numbered.seq,
      case numbered.kind when 'echo' then 'outbound' else 'inbound' end,
      numbered.type, numbered.text, nullif(numbered.media, 'null'),
      case numbered.kind when 'echo' then 'sent' else 'received' end,
      numbered.sender_name, numbered.wamid, numbered.kind = 'echo', numbered.sent_at, at, at
    from numbered
    where numbered.kind <> 'reaction'
  ),
  reaction as (
    insert into message_reactions (company_id, wamid, target_wamid, emoji, occurred_at)
    select numbered.company_id, numbered.wamid, numbered.target_wamid, numbered.emoji, coalesce(numbered.sent_at, numbered.arrived_at)
    from numbered
    where numbered.kind = 'reaction' and numbered.wamid is not null and numbered.target_wamid is not null
    order by numbered.ord
  )
  select given.ord, given.is_new, numbered.conversation_id, numbered.message_id
  from given
  left join numbered using (ord);
end
$$;
