-- Locks customers by identity until the transaction ends. Every writer that decides which contact a customer is calls this
-- first and looks afterwards, in a statement of its own. The order is the same everywhere.
create function lock_customers(customers customer_key[])
returns void
language plpgsql
as $$
begin
  perform pg_advisory_xact_lock(locks.key)
  from (
    select distinct advisory_key('customer', customer.company_id || ':' || customer.identity) as key
    from unnest(customers) as customer
    order by 1
  ) as locks;
end
$$;
