-- Whether one of the wamids is of an erased message, or one of the identities is of a person who was erased after the event
-- about it had arrived.
create function is_erased(company bigint, wamids text[], identities text[], arrived_at timestamptz)
returns boolean
language sql stable
as $$
  -- Most companies have no erasure within 30 days: one look then saves a hash for each text.
  select exists (select from erased_keys where company_id = company) and exists (
    select
    from (
      select keyed_hash(company, wamid) as hash, timestamptz '-infinity' as since from unnest(wamids) as wamid
      union all
      select keyed_hash(company, identity), arrived_at from unnest(identities) as identity
    ) as key
    join erased_keys on (erased_keys.company_id, erased_keys.hash) = (company, key.hash) and erased_keys.erased_at > key.since
  )
$$;
