-- The identities that customer_user_ids pairs with the given ones.
create function partners_of(company_ids bigint[], identities text[])
returns table (company_id bigint, identity text)
language sql stable
as $$
  select pair.company_id, pair.user_id
  from unnest(company_ids, identities) as given (company_id, identity)
  join customer_user_ids pair on (pair.company_id, pair.phone_identity) = (given.company_id, given.identity)
  union
  select pair.company_id, pair.phone_identity
  from unnest(company_ids, identities) as given (company_id, identity)
  join customer_user_ids pair on (pair.company_id, pair.user_id) = (given.company_id, given.identity)
$$;
