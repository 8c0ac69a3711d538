-- A phone number that was the one of user `former_user` is another person's now. The conversations under it keep their
-- history and are found by the user id alone; no contact has the number any more.
create function release_phone(company bigint, identity text, former_user text, at timestamptz)
returns void
language plpgsql
as $$
declare
  conversation record;
begin
  insert into contact_aliases (company_id, identity, contact_id)
  select company, former_user, known.contact_id
  from contact_identities known
  where (known.company_id, known.identity) = (company, release_phone.identity)
  on conflict do nothing;
  perform take_phone(company, identity, at);

  for conversation in
    select
      own.id, own.sender_id, own.contact_id,
      case when own.customer ~ '^[0-9]' then '~' || own.id else own.customer end as kept
    from conversations_of(company, release_phone.identity) as own
    order by own.id
  loop
    perform take_phone_of_deleted(company, conversation.contact_id, identity);
    perform rename_customer(company, conversation.id, conversation.kept, conversation.kept, at);
    if conversation.kept <> former_user then
      insert into customer_aliases (company_id, sender_id, alias, customer)
      values (company, conversation.sender_id, former_user, conversation.kept)
      on conflict do nothing;
    end if;
  end loop;

  delete from customer_user_ids
  where (company_id, phone_identity) = (company, release_phone.identity);
end
$$;
