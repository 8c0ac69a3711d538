-- Locks customers by identity until the transaction ends. Every writer that decides which contact a customer is calls this
-- first and looks afterwards, in a statement of its own. The order is the same everywhere.
create function lock_customers(company_ids bigint[], identities text[])
returns void
language plpgsql
as $$
begin
  perform pg_advisory_xact_lock(locks.key)
  from (
    select distinct advisory_key('customer', customer.company_id || ':' || customer.identity) as key
    from unnest(company_ids, identities) as customer (company_id, identity)
    order by 1
  ) as locks;
end
$$;
