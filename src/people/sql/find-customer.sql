-- The customer that an identity leads to. No row: there is none.
create function find_customer(company bigint, of_identity text)
returns table (company_id bigint, customer_id bigint)
language sql stable
as $$
  select existing.company_id, existing.customer_id
  from customer_identities existing
  where (existing.company_id, existing.identity) = (company, of_identity)
    and (existing.retired_at is null or existing.identity !~ '^[0-9]')
  limit 1
$$;
