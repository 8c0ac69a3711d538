-- Gives a conversation another customer. The phone numbers that led to it lead nowhere from then on; its user ids lead to
-- the customer `heir`, which is the conversation's own unless the customer goes on in another conversation.
create function rename_customer(company bigint, conversation bigint, new_customer text, heir text, at timestamptz)
returns void
language plpgsql
as $$
declare
  sender bigint;
  former text;
begin
  select sender_id, customer into sender, former
  from conversations
  where (company_id, id) = (company, conversation)
  for no key update;

  delete from customer_aliases
  where (company_id, sender_id, customer) = (company, sender, former) and alias ~ '^[0-9]';
  update customer_aliases set customer = heir where (company_id, sender_id, customer) = (company, sender, former);

  if new_customer <> former then
    delete from customer_aliases where (company_id, sender_id, alias) = (company, sender, new_customer);
    update conversations set customer = new_customer, updated_at = at where (company_id, id) = (company, conversation);
  end if;
  if former !~ '^[0-9~]' and former <> heir then
    insert into customer_aliases as kept (company_id, sender_id, alias, customer)
    values (company, sender, former, heir)
    on conflict (company_id, sender_id, alias) do update set customer = excluded.customer;
  end if;
end
$$;
