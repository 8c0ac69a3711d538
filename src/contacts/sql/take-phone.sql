-- Takes a phone number away from all contacts that have it or are known by it, with every other way to write it.
create function take_phone(company bigint, identity text, at timestamptz)
returns void
language plpgsql
as $$
declare
  known bigint;
  holders bigint[];
begin
  select contact_id into known
  from contact_identities
  where (contact_identities.company_id, contact_identities.identity) = (company, take_phone.identity);

  select array_agg(found.id) into holders
  from (
    select contacts.id
    from contacts
    where (contacts.company_id, contacts.phone_identity) = (company, take_phone.identity) and contacts.deleted_at is null
    union
    select known where known is not null
  ) as found;
  if holders is null then
    return;
  end if;

  update contacts
  set
    phone = null,
    phone_identity = null,
    search_text = array_to_string(array_remove(string_to_array(search_text, chr(10)), phone), chr(10)),
    updated_at = at
  where company_id = company and id = any(holders) and phone is not null;
  delete from contact_aliases
  where company_id = company and contact_id = any(holders) and contact_aliases.identity ~ '^[0-9]';
end
$$;
