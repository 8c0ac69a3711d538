-- Locks customers by identity until the transaction ends, without waiting: returns those that it holds. See lock_customers.
create function try_lock_customers(customers customer_key[])
returns table (company_id bigint, identity text)
language sql
as $$
  with customer as materialized (
    select distinct given.company_id, given.identity from unnest(customers) as given
  )
  select customer.company_id, customer.identity
  from customer
  where pg_try_advisory_xact_lock(advisory_key('customer', customer.company_id || ':' || customer.identity))
$$;
