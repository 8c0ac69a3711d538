-- Of items that name a phone number and a user id (see identify_customers) those that report something new about the number,
-- with what was known: the other user that had the number, the other number that the user had, and whether the user is known
-- at all.
create function reported_numbers(items inbound_item[])
returns table (
  ord integer, company_id bigint, phone_identity text, user_id text, phone text, sent_at timestamptz, is_stale boolean,
  former_user text, former_phone text, is_known_user boolean
)
language sql stable
as $$
  select
    item.ord,
    item.company_id,
    item.customer,
    item.other,
    item.phone,
    message.sent_at,
    coalesce(holder.reported_at > message.sent_at, false),
    holder.user_id,
    pair.phone_identity,
    exists (
      select from contact_aliases known where (known.company_id, known.identity) = (item.company_id, item.other)
    )
  from unnest(items) as item
  cross join lateral (select to_timestamp(coalesce(item.sent, item.arrived)) as sent_at) as message
  -- Lateral with a limit: a probe of the index for each item, whatever the statistics say.
  left join lateral (
    select known.user_id, known.reported_at
    from customer_user_ids known
    where (known.company_id, known.phone_identity) = (item.company_id, item.customer)
    limit 1
  ) as holder on true
  left join lateral (
    select known.phone_identity
    from customer_user_ids known
    where (known.company_id, known.user_id) = (item.company_id, item.other)
    limit 1
  ) as pair on true
  left join lateral (
    select known.id
    from messages known
    where (known.company_id, known.wamid) = (item.company_id, item.wamid)
    limit 1
  ) as known_message on true
  left join lateral (
    select known.ordinal
    from message_reactions known
    where (known.company_id, known.wamid) = (item.company_id, item.wamid)
    limit 1
  ) as known_reaction on true
  where item.other is not null
    and holder.user_id is distinct from item.other
    and known_message.id is null
    and known_reaction.ordinal is null
$$;
