-- Locks the customers of sends without waiting, and returns the sends whose customer it locked.
create function lock_send_customers(items send_item[])
returns send_item[]
language plpgsql
as $$
declare
  company_ids bigint[];
  customers text[];
begin
  select array_agg(item.company_id), array_agg(item.customer) into company_ids, customers from unnest(items) as item;
  return array(
    select item::send_item
    from unnest(items) as item
    join try_lock_customers(company_ids, customers) as held
      on (held.company_id, held.identity) = (item.company_id, item.customer)
    order by item.ord
  );
end
$$;
