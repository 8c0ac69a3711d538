-- All identities of contacts: the email, the identity of the phone, the aliases.
create function identities_of(company bigint, ids bigint[])
returns setof text
language sql stable
as $$
  with found as materialized (select distinct unnest(ids) as id)
  select identity
  from found
  cross join lateral (
    select unnest(array['mailto:' || contacts.email_key, contacts.phone_identity])
    from contacts
    where (contacts.company_id, contacts.id) = (company, found.id)
    union all
    select alias.identity
    from contact_aliases alias
    where (alias.company_id, alias.contact_id) = (company, found.id)
  ) as known (identity)
  where identity is not null
$$;
