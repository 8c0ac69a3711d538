-- The identities that customer_user_ids pairs with the given ones.
create function partners_of(customers customer_key[])
returns table (company_id bigint, identity text)
language sql stable
as $$
  -- Lateral with a limit: a probe of the index for each identity, whatever the statistics say.
  select given.company_id, partner.identity
  from unnest(customers) as given
  cross join lateral (
    (
      select pair.user_id as identity
      from customer_user_ids pair
      where (pair.company_id, pair.phone_identity) = (given.company_id, given.identity)
      limit 1
    )
    union all
    (
      select pair.phone_identity
      from customer_user_ids pair
      where (pair.company_id, pair.user_id) = (given.company_id, given.identity)
      limit 1
    )
  ) as partner
$$;
