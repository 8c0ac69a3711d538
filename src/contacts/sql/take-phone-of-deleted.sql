-- Takes a phone number away from a deleted contact: its conversations still show it.
create function take_phone_of_deleted(company bigint, contact bigint, identity text)
returns void
language sql
as $$
  update contacts
  set phone = null, phone_identity = null
  where (company_id, id) = (company, contact)
    and phone_identity = take_phone_of_deleted.identity
    and deleted_at is not null
$$;
