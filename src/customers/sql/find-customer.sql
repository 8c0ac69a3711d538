-- The customer that an identity leads to. No row: there is none.
create function find_customer(company bigint, of_identity text)
returns table (company_id bigint, customer_id bigint)
language sql stable
as $$
  select known.company_id, known.customer_id
  from customer_identities known
  where (known.company_id, known.identity) = (company, of_identity)
    and (known.retired_at is null or known.identity !~ '^[0-9]')
  limit 1
$$;
