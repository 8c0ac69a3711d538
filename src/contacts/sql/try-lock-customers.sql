-- Locks customers by identity until the transaction ends, without waiting: returns those that it holds. See lock_customers.
create function try_lock_customers(company_ids bigint[], identities text[])
returns table (company_id bigint, identity text)
language sql
as $$
  with customer as materialized (
    select distinct given.company_id, given.identity
    from unnest(company_ids, identities) as given (company_id, identity)
  )
  select customer.company_id, customer.identity
  from customer
  where pg_try_advisory_xact_lock(advisory_key('customer', customer.company_id || ':' || customer.identity))
$$;
