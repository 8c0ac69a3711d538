-- A customer changed the phone number, as the provider's system message reports. Does nothing when that message was recorded
-- before, or when the old number was reported of another person since.
create function change_number(
  company bigint, former text, identity text, phone text, system_wamid text, sent timestamptz, at timestamptz
)
returns void
language plpgsql
as $$
declare
  own_user text;
  holder text;
begin
  perform lock_customers_and_partners(array[row(company, former), row(company, identity)]::customer_key[]);
  if exists (select from messages where (company_id, wamid) = (company, system_wamid))
    or exists (
      select from customer_user_ids where (company_id, phone_identity) = (company, former) and reported_at > sent
    )
  then
    return;
  end if;

  select user_id into own_user
  from customer_user_ids
  where (company_id, phone_identity) = (company, former);
  select user_id into holder
  from customer_user_ids
  where (company_id, phone_identity) = (company, change_number.identity);

  -- Two customers by their user ids: the new number was the other's.
  if own_user is not null and holder is not null then
    perform release_phone(company, identity, holder, at);
    holder := null;
  end if;
  perform move_customer(company, former, identity, phone, at);

  delete from customer_user_ids where (company_id, phone_identity) = (company, former);
  if own_user is not null and holder is null then
    insert into customer_user_ids (company_id, phone_identity, user_id, reported_at)
    values (company, identity, own_user, sent);
  end if;
end
$$;
