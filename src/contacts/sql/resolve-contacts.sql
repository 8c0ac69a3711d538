-- Finds or creates the contact of each customer of a message: a known customer keeps its contact unchanged, a new one begins
-- with the opt-outs of its identities. The caller holds lock_customers for all of them. An identity
-- #id is a WhatsApp group, which has its id as first name.
-- people: [{company_id, identity, phone, other, source, source_type}]; other: another identity of the customer
create function resolve_contacts(people jsonb)
returns table (company_id bigint, identity text, contact_id bigint)
language plpgsql
as $$
#variable_conflict use_column
begin
  return query
  with person as (
    select distinct on (person.company_id, person.identity) person.*
    from jsonb_to_recordset(people)
      as person (company_id bigint, identity text, phone text, other text, source text, source_type text)
    order by person.company_id, person.identity
  ),
  met as materialized (
    select
      person.*,
      person.phone is not null and person.identity ~ '^[0-9]' as has_phone,
      case when person.identity ~ '^#' then substr(person.identity, 2) end as group_id,
      known.contact_id as known_id,
      case when known.contact_id is null then nextval('contacts_id_seq') end as new_id
    from person
    left join lateral (
      select known.contact_id
      from contact_identities known
      where (known.company_id, known.identity) = (person.company_id, person.identity)
      limit 1
    ) as known on true
  ),
  created as (
    insert into contacts (
      company_id, id, phone, phone_identity, first_name, search_text, source, source_type, email_consent, whatsapp_consent
    )
    select
      met.company_id, met.new_id, met.phone, case when met.has_phone then met.identity end, met.group_id,
      coalesce(met.phone, lower(met.group_id), ''), met.source, met.source_type,
      case when is_opted_out(met.company_id, 'email', met.identity) then false end,
      case
        when is_opted_out(met.company_id, 'whatsapp', met.identity) or is_opted_out(met.company_id, 'whatsapp', met.other)
          then false
      end
    from met
    where met.new_id is not null
  ),
  identified as (
    insert into contact_aliases (company_id, identity, contact_id)
    select met.company_id, met.identity, met.new_id
    from met
    where met.new_id is not null and not met.has_phone
    on conflict do nothing
  ),
  counted as (
    insert into contact_changes (company_id, change)
    select met.company_id, count(*)
    from met
    where met.new_id is not null
    group by met.company_id
  )
  select met.company_id, met.identity, coalesce(met.known_id, met.new_id)
  from met;
end
$$;
