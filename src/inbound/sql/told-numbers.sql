-- Of messages that name a phone number and a user id (see identify_customers) those that say something new of the number, and
-- what was known: the other user that had the number, the other number that the user had, and whether the user is known at all.
create function told_numbers(
  company_ids bigint[], phone_identities text[], user_ids text[], phones text[], wamids text[], sent double precision[],
  arrived double precision[]
)
returns table (
  ord bigint, company_id bigint, phone_identity text, user_id text, phone text, sent_at timestamptz, is_stale boolean,
  former_user text, former_phone text, is_known_user boolean
)
language sql stable
as $$
  select
    given.ord,
    given.company_id,
    given.phone_identity,
    given.user_id,
    given.phone,
    message.sent_at,
    coalesce(holder.reported_at > message.sent_at, false),
    holder.user_id,
    pair.phone_identity,
    exists (
      select from contact_aliases known where (known.company_id, known.identity) = (given.company_id, given.user_id)
    )
  from unnest(company_ids, phone_identities, user_ids, phones, wamids, sent, arrived)
    with ordinality as given (company_id, phone_identity, user_id, phone, wamid, sent, arrived, ord)
  cross join lateral (select to_timestamp(coalesce(given.sent, given.arrived)) as sent_at) as message
  -- Lateral with a limit: a probe of the index for each message, whatever the statistics say.
  left join lateral (
    select known.user_id, known.reported_at
    from customer_user_ids known
    where (known.company_id, known.phone_identity) = (given.company_id, given.phone_identity)
    limit 1
  ) as holder on true
  left join lateral (
    select known.phone_identity
    from customer_user_ids known
    where (known.company_id, known.user_id) = (given.company_id, given.user_id)
    limit 1
  ) as pair on true
  left join lateral (
    select known.id
    from messages known
    where (known.company_id, known.wamid) = (given.company_id, given.wamid)
    limit 1
  ) as known_message on true
  left join lateral (
    select known.ordinal
    from message_reactions known
    where (known.company_id, known.wamid) = (given.company_id, given.wamid)
    limit 1
  ) as known_reaction on true
  where given.user_id is not null
    and holder.user_id is distinct from given.user_id
    and known_message.id is null
    and known_reaction.ordinal is null
$$;
