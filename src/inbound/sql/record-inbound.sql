-- Writes what customers and the business's own phone app wrote: contacts, conversations, messages, reactions. One call is
-- part of the transaction that deletes the events. It locks first and looks afterwards.
--
-- One element of each array per item, in their order, which `ord` counts from 1. kind: message | echo | reaction. sent and
-- arrived are epoch seconds, media is JSON. `other` is the customer's second identity (a user id beside a phone number).
-- `before`: the number of items in earlier calls of the same moment. Returns one row per item, in any order: is_new is false
-- for an item that was known. Fewer rows than items: the next one moves a number (identify_customers), so call again with
-- the rest. Within one call the identities of a customer must not change: identities that an item joins are known to the next
-- call only.
create function record_inbound(
  company_ids bigint[],
  sender_ids bigint[],
  kinds text[],
  customers text[],
  others text[],
  phones text[],
  profile_names text[],
  wamids text[],
  types text[],
  texts text[],
  medias text[],
  target_wamids text[],
  emojis text[],
  sent double precision[],
  arrived double precision[],
  window_openers boolean[],
  sender_names text[],
  source_type text,
  before integer,
  at timestamptz
)
returns table (ord bigint, is_new boolean, conversation_id bigint, message_id bigint)
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
  stale bigint[] := '{}';
  upto bigint := cardinality(company_ids);
  place bigint;
  known_phone text;
begin
  if array_remove(others, null) = '{}' and array_to_string(customers, '') ~ '^[0-9]*$' then
    perform lock_customers(company_ids, customers);
  else
    perform lock_customers_and_partners(company_ids || company_ids, customers || others);
    select identified.stale, identified.upto into stale, upto
    from identify_customers(company_ids, customers, others, phones, wamids, sent, arrived, at) as identified;
    foreach place in array stale loop
      customers[place] := others[place];
      others[place] := null;
      phones[place] := null;
    end loop;
    -- A customer who hides a phone number that is known is found by both.
    for place, known_phone in
      select given.ord, pair.phone_identity
      from unnest(company_ids, customers, others) with ordinality as given (company_id, customer, other, ord)
      cross join lateral (
        select known.phone_identity
        from customer_user_ids known
        where (known.company_id, known.user_id) = (given.company_id, given.customer)
        limit 1
      ) as pair
      where given.other is null
    loop
      others[place] := customers[place];
      customers[place] := known_phone;
    end loop;
  end if;

  return query
  with item as materialized (
    select
      given.*,
      -- The first of equal wamids counts, and none that is here already.
      given.wamid is null or (
        row_number() over (partition by given.company_id, given.kind = 'reaction', given.wamid order by given.ord) = 1
        and known_message.id is null
        and known_reaction.ordinal is null
      ) as is_new,
      coalesce(own.id, joined.id) as known_conversation,
      coalesce(own.customer, joined.customer, alias.customer, given.customer) as thread,
      coalesce(own_contact.contact_id, other_contact.contact_id) as known_contact,
      case
        when own_contact.contact_id is null and other_contact.contact_id is not null then given.other
        else given.customer
      end as person
    from unnest(
      company_ids, sender_ids, kinds, customers, others, phones, profile_names, wamids, types, texts, medias,
      target_wamids, emojis, sent, arrived, window_openers, sender_names
    ) with ordinality as given (
      company_id, sender_id, kind, customer, other, phone, profile_name, wamid, type, text, media,
      target_wamid, emoji, sent, arrived, opens_window, sender_name, ord
    )
    -- Lateral with a limit: a probe of the index for each item, whatever the statistics say. Those of a table that has
    -- just begun to fill make the planner read all of it.
    left join lateral (
      select known.id
      from messages known
      where given.kind <> 'reaction' and (known.company_id, known.wamid) = (given.company_id, given.wamid)
      limit 1
    ) as known_message on true
    left join lateral (
      select known.ordinal
      from message_reactions known
      where given.kind = 'reaction' and (known.company_id, known.wamid) = (given.company_id, given.wamid)
      limit 1
    ) as known_reaction on true
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
    ) as joined on true
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
    where given.ord <= upto
  ),
  met as materialized (
    select *
    from resolve_contacts((
      select jsonb_agg(jsonb_build_object(
        'company_id', item.company_id, 'identity', item.person, 'phone', item.phone, 'other', item.other,
        'source', 'WhatsApp', 'source_type', source_type
      ) order by item.ord)
      from item
      where item.is_new and item.known_contact is null
    ))
  ),
  fresh as materialized (
    -- In the order of each conversation: the how many-eth entry of this call, and the how many-eth from the customer.
    select
      item.*,
      coalesce(item.known_contact, met.contact_id) as contact_id,
      count(*) filter (where item.kind <> 'reaction') over upto as entries,
      count(*) filter (where item.kind = 'message') over upto as written
    from item
    left join met on (met.company_id, met.identity) = (item.company_id, item.person)
    where item.is_new
    window upto as (partition by item.company_id, item.sender_id, item.thread order by item.ord)
  ),
  identified as (
    insert into contact_aliases (company_id, identity, contact_id)
    select distinct on (fresh.company_id, identity.name) fresh.company_id, identity.name, fresh.contact_id
    from fresh
    cross join lateral (values (fresh.customer), (fresh.other)) as identity (name)
    where fresh.other is not null and identity.name <> fresh.person
    order by fresh.company_id, identity.name, fresh.ord
    on conflict do nothing
  ),
  shown as (
    -- Who hid the phone and shows it now is no stranger's contact: nobody else has this number.
    update contacts kept
    set
      phone = person.phone,
      phone_identity = person.customer,
      search_text = concat_ws(chr(10), nullif(kept.search_text, ''), person.phone),
      updated_at = at
    from (
      select distinct on (fresh.company_id, fresh.person)
        fresh.company_id, fresh.contact_id, fresh.phone, fresh.customer
      from fresh
      where fresh.person = fresh.other and fresh.phone is not null
      order by fresh.company_id, fresh.person, fresh.ord
    ) as person
    where (kept.company_id, kept.id) = (person.company_id, person.contact_id) and kept.phone is null
  ),
  aliased as (
    insert into customer_aliases (company_id, sender_id, alias, customer)
    select distinct on (fresh.company_id, fresh.sender_id, identity.name)
      fresh.company_id, fresh.sender_id, identity.name, fresh.thread
    from fresh
    cross join lateral (values (fresh.customer), (fresh.other)) as identity (name)
    where fresh.other is not null and identity.name <> fresh.thread
    order by fresh.company_id, fresh.sender_id, identity.name, fresh.ord
    on conflict do nothing
  ),
  told as materialized (
    -- What a call tells of each conversation. Unread counts from the last echo on; a reaction is no entry.
    select
      fresh.company_id,
      fresh.sender_id,
      fresh.thread,
      max(fresh.known_conversation) as known_conversation,
      min(fresh.contact_id) as contact_id,
      max(fresh.entries) as entries,
      bool_or(fresh.kind = 'echo') as is_answered,
      bool_or(fresh.kind = 'message') as is_written_to,
      max(fresh.written) - coalesce(max(fresh.written) filter (where fresh.kind = 'echo'), 0) as unread,
      (array_agg(fresh.profile_name order by fresh.ord desc) filter (where fresh.profile_name is not null))[1] as profile_name,
      (array_agg(fresh.text order by fresh.ord desc) filter (where fresh.kind <> 'reaction'))[1] as last_text,
      (
        array_agg(case fresh.kind when 'echo' then 'outbound' else 'inbound' end order by fresh.ord desc)
          filter (where fresh.kind <> 'reaction')
      )[1] as last_direction,
      to_timestamp(
        (array_agg(coalesce(fresh.sent, fresh.arrived) order by fresh.ord desc) filter (where fresh.kind <> 'reaction'))[1]
      ) as last_message_at,
      case
        when bool_or(fresh.opens_window)
        then least(to_timestamp(max(least(fresh.sent, fresh.arrived)) filter (where fresh.opens_window)), at)
      end as last_inbound_at,
      -- The list keeps the order of what came at one time.
      at + (before + max(fresh.ord)) * interval '1 microsecond' as active_at
    from fresh
    group by fresh.company_id, fresh.sender_id, fresh.thread
  ),
  changed as (
    update conversations kept
    set
      contact_id = told.contact_id,
      profile_name = coalesce(told.profile_name, kept.profile_name),
      status = case when told.is_written_to then 'open' else kept.status end,
      unread_messages = told.unread + case when told.is_answered then 0 else kept.unread_messages end,
      message_count = kept.message_count + told.entries,
      last_text = case when told.entries > 0 then told.last_text else kept.last_text end,
      last_direction = coalesce(told.last_direction, kept.last_direction),
      last_message_at = coalesce(told.last_message_at, kept.last_message_at),
      last_inbound_at = greatest(kept.last_inbound_at, told.last_inbound_at),
      updated_at = at
    from told
    where (kept.company_id, kept.id) = (told.company_id, told.known_conversation)
    returning kept.company_id, kept.id, kept.sender_id, kept.customer, kept.message_count - told.entries as entries_before
  ),
  created as (
    insert into conversations as made (
      company_id, sender_id, customer, contact_id, profile_name, unread_messages, message_count, last_text,
      last_direction, last_message_at, last_inbound_at, created_at, updated_at
    )
    select
      told.company_id, told.sender_id, told.thread, told.contact_id, told.profile_name, told.unread, told.entries,
      told.last_text, told.last_direction, told.last_message_at, told.last_inbound_at, at, at
    from told
    where told.known_conversation is null
    returning made.company_id, made.id, made.sender_id, made.customer, 0::bigint as entries_before
  ),
  conversation as (
    select * from changed union all select * from created
  ),
  listed as (
    insert into conversation_activity as kept (company_id, conversation_id, active_at)
    select conversation.company_id, conversation.id, told.active_at
    from conversation
    join told on (told.company_id, told.sender_id, told.thread)
      = (conversation.company_id, conversation.sender_id, conversation.customer)
    on conflict (company_id, conversation_id) do update set active_at = excluded.active_at
    where kept.active_at < excluded.active_at -- a slower clock never moves a conversation back
  ),
  counted as (
    insert into conversation_counts as kept (company_id, total)
    select created.company_id, count(*)
    from created
    group by created.company_id
    order by created.company_id
    on conflict (company_id, writer) do update set total = kept.total + excluded.total
  ),
  numbered as materialized (
    select
      entry.*,
      case when entry.kind <> 'reaction' then nextval('messages_id_seq') end as message_id
    from (
      select fresh.*, conversation.id as conversation_id, conversation.entries_before + fresh.entries as seq
      from fresh
      join conversation
        on (conversation.company_id, conversation.sender_id, conversation.customer)
         = (fresh.company_id, fresh.sender_id, fresh.thread)
      order by fresh.ord -- ids grow as messages came
    ) as entry
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
      numbered.type, numbered.text, numbered.media::jsonb,
      case numbered.kind when 'echo' then 'sent' else 'received' end,
      numbered.sender_name, numbered.wamid, numbered.kind = 'echo', to_timestamp(numbered.sent), at, at
    from numbered
    where numbered.kind <> 'reaction'
  ),
  reaction as (
    insert into message_reactions (company_id, wamid, target_wamid, emoji, occurred_at)
    select
      numbered.company_id, numbered.wamid, numbered.target_wamid, numbered.emoji,
      to_timestamp(coalesce(numbered.sent, numbered.arrived))
    from numbered
    where numbered.kind = 'reaction' and numbered.wamid is not null and numbered.target_wamid is not null
    order by numbered.ord
  )
  select item.ord, item.is_new, numbered.conversation_id, numbered.message_id
  from item
  left join numbered using (ord);

  if exists (
    select
    from unnest(company_ids, wamids) as given (company_id, wamid)
    cross join lateral (
      select from message_changes change
      where (change.company_id, change.target_wamid) = (given.company_id, given.wamid)
      limit 1
    ) as change
  ) then
    perform apply_message_changes(company_ids, wamids, at);
  end if;
end
$$;
