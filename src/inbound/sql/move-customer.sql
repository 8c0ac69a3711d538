-- A customer is reached under the phone number `identity` from now on; `former` is the number that led to the customer until
-- now, and leads nowhere any more, or the user id, which stays. Conversations go on under the new number. Where it has a
-- conversation already both stay, and the one of `former` is closed.
create function move_customer(company bigint, former text, identity text, phone text, at timestamptz)
returns void
language plpgsql
as $$
declare
  contact bigint := move_contact(company, former, identity, phone, at);
  conversation record;
begin
  for conversation in
    select own.id, own.customer, own.sender_id, own.contact_id, target.id as target_id, target.customer as target_customer
    from conversations_of(company, former) as own
    left join conversations_of(company, move_customer.identity) as target on target.sender_id = own.sender_id
    order by own.id
  loop
    perform take_phone_of_deleted(company, conversation.contact_id, former);
    if conversation.target_id is not null and conversation.target_id <> conversation.id then
      perform rename_customer(company, conversation.id, '~' || conversation.id, conversation.target_customer, at);
      update conversations set status = 'closed' where (company_id, id) = (company, conversation.id);
      update conversation_activity set status = 'closed'
      where (company_id, conversation_id) = (company, conversation.id);
      continue;
    end if;
    if conversation.customer ~ '^[0-9]' then
      perform rename_customer(company, conversation.id, move_customer.identity, move_customer.identity, at);
    else
      perform rename_customer(company, conversation.id, conversation.customer, conversation.customer, at);
      insert into customer_aliases as kept (company_id, sender_id, alias, customer)
      values (company, conversation.sender_id, move_customer.identity, conversation.customer)
      on conflict (company_id, sender_id, alias) do update set customer = excluded.customer;
    end if;
    update conversations set contact_id = contact
    where (company_id, id) = (company, conversation.id) and contact_id <> contact;
  end loop;
end
$$;
