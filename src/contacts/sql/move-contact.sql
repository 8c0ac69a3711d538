-- A customer is known under the phone number `identity` from now on, no more under the number `former`; a user id as
-- `former` stays. The contact takes the number, unless another contact has it: then that one is the customer's contact, and
-- the former contact is left without a number. Returns the customer's contact; null: there is none.
create function move_contact(company bigint, former text, identity text, phone text, at timestamptz)
returns bigint
language plpgsql
as $$
declare
  own bigint;
  holder bigint;
begin
  select contact_id into own
  from contact_identities
  where (contact_identities.company_id, contact_identities.identity) = (company, former);
  select contact_id into holder
  from contact_identities
  where (contact_identities.company_id, contact_identities.identity) = (company, move_contact.identity);

  if former ~ '^[0-9]' then
    perform take_phone(company, former, at);
  end if;
  if own is null then
    return holder;
  end if;
  if holder is not null and holder <> own then
    update contact_aliases set contact_id = holder where company_id = company and contact_id = own;
    return holder;
  end if;

  update contacts
  set
    phone = move_contact.phone,
    phone_identity = move_contact.identity,
    search_text = concat_ws(
      chr(10),
      nullif(array_to_string(array_remove(string_to_array(search_text, chr(10)), contacts.phone), chr(10)), ''),
      move_contact.phone
    ),
    updated_at = at
  where (company_id, id) = (company, own)
    and (contacts.phone is null or former ~ '^[0-9]')
    and contacts.phone_identity is distinct from move_contact.identity;
  return own;
end
$$;
