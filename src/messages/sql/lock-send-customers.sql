-- Locks the customers of sends without waiting, and returns the sends whose customer it locked.
create function lock_send_customers(items send_item[])
returns send_item[]
language plpgsql
as $$
declare
  customers constant customer_key[] := array(
    select row(item.company_id, item.customer)::customer_key from unnest(items) as item
  );
begin
  return array(
    select item::send_item
    from unnest(items) as item
    join try_lock_customers(customers) as held
      on (held.company_id, held.identity) = (item.company_id, item.customer)
    order by item.ord
  );
end
$$;
