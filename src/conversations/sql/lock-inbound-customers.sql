-- Locks the customers of a batch, and learns from it who has which phone number. Returns the items that can be recorded
-- together, the first ones of the batch, each with the identities that its customer is known by now.
create function lock_inbound_customers(items inbound_item[], at timestamptz)
returns inbound_item[]
language plpgsql
as $$
declare
  company_ids bigint[];
  customers text[];
  others text[];
begin
  select array_agg(item.company_id), array_agg(item.customer), array_agg(item.other)
  into company_ids, customers, others
  from unnest(items) as item;

  -- Phone numbers alone: no item says anything about who has which number.
  if array_remove(others, null) = '{}' and array_to_string(customers, '') ~ '^[0-9]*$' then
    perform lock_customers(company_ids, customers);
    return items;
  end if;
  perform lock_customers_and_partners(company_ids || company_ids, customers || others);
  return add_hidden_phones(identify_customers(items, at));
end
$$;
