-- The customer known under `former`, a user id or a phone number, got another user id, under which the same conversations and
-- the same contact are found. A user id that is known already stays with its customer.
create function change_user_id(company bigint, former text, user_id text, sent timestamptz)
returns void
language plpgsql
as $$
begin
  perform lock_customers_and_partners(array[row(company, former), row(company, user_id)]::customer_key[]);
  if exists (
    select from contact_identities known where (known.company_id, known.identity) = (company, change_user_id.user_id)
  ) then
    return;
  end if;

  insert into contact_aliases (company_id, identity, contact_id)
  select company, change_user_id.user_id, known.contact_id
  from contact_identities known
  where (known.company_id, known.identity) = (company, former)
  on conflict do nothing;
  insert into customer_aliases (company_id, sender_id, alias, customer)
  select company, known.sender_id, change_user_id.user_id, known.customer
  from conversations_of(company, former) as known
  on conflict do nothing;
  update customer_user_ids pair
  set user_id = change_user_id.user_id, reported_at = greatest(pair.reported_at, sent)
  where pair.company_id = company and (pair.user_id = former or pair.phone_identity = former)
    and not exists (
      select from customer_user_ids known
      where (known.company_id, known.user_id) = (company, change_user_id.user_id)
    );
end
$$;
