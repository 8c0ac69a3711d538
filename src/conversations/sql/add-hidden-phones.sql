-- Gives the items of customers who hide their phone number the number's identity, where it is known: such a customer is
-- found by both identities.
create function add_hidden_phones(items inbound_item[])
returns inbound_item[]
language plpgsql stable
as $$
declare
  place integer;
  known_phone text;
begin
  for place, known_phone in
    select item.ord, pair.phone_identity
    from unnest(items) as item
    cross join lateral (
      select known.phone_identity
      from customer_user_ids known
      where (known.company_id, known.user_id) = (item.company_id, item.customer)
      limit 1
    ) as pair
    where item.other is null
  loop
    items[place].other := items[place].customer;
    items[place].customer := known_phone;
  end loop;
  return items;
end
$$;
