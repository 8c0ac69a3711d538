-- The contact of an identity: the oldest living contact that has the number, else the contact that is known by it.
create view contact_identities as
select company_id, identity, contact_id
from (
  select distinct on (company_id, phone_identity) company_id, phone_identity as identity, id as contact_id
  from contacts
  where phone_identity is not null and deleted_at is null
  order by company_id, phone_identity, id
) holder
union all
select alias.company_id, alias.identity, alias.contact_id
from contact_aliases alias
where not exists (
  select
  from contacts
  where contacts.company_id = alias.company_id
    and contacts.phone_identity = alias.identity
    and contacts.deleted_at is null
);
