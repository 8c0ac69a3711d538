-- Locks the customers of a batch, and learns from it who has which phone number. Returns the items that can be recorded
-- together, the first ones of the batch, each with the identities that its customer is known by now.
create function lock_inbound_customers(items inbound_item[], at timestamptz)
returns inbound_item[]
language plpgsql
as $$
declare
  customers customer_key[];
  others customer_key[];
  known inbound_item[];
  have_phones_alone boolean;
begin
  select
    array_agg(row(item.company_id, item.customer)::customer_key),
    array_agg(row(item.company_id, item.other)::customer_key) filter (where item.other is not null),
    bool_and(item.other is null and item.customer ~ '^[0-9]*$')
  into customers, others, have_phones_alone
  from unnest(items) as item;

  -- Phone numbers alone: no item says anything about who has which number.
  if have_phones_alone then
    perform lock_customers(customers);
    return items;
  end if;
  perform lock_customers_and_partners(customers || others);
  -- A statement of its own: within one, add_hidden_phones would not see what identify_customers changes.
  known := identify_customers(items, at);
  return add_hidden_phones(known);
end
$$;
