-- Finds or creates the contact of each customer of a message: a known customer keeps its contact unchanged, a new one begins
-- with the opt-outs of its identities. The caller holds lock_customers for all of them. An identity
-- #id is a WhatsApp group, which has its id as first name.
create function resolve_contacts(customers customer_contact[])
returns table (company_id bigint, identity text, contact_id bigint)
language plpgsql
as $$
#variable_conflict use_column
begin
  return query
  with customer as (
    select distinct on (given.company_id, given.identity) given.*
    from unnest(customers) with ordinality
      as given (company_id, identity, phone, other, source, source_type, place)
    order by given.company_id, given.identity, given.place
  ),
  matched as materialized (
    select
      customer.*,
      customer.phone is not null and customer.identity ~ '^[0-9]' as has_phone,
      case when customer.identity ~ '^#' then substr(customer.identity, 2) end as group_id,
      known.contact_id as known_id,
      case when known.contact_id is null then nextval('contacts_id_seq') end as new_id
    from customer
    left join lateral (
      select known.contact_id
      from contact_identities known
      where (known.company_id, known.identity) = (customer.company_id, customer.identity)
      limit 1
    ) as known on true
  ),
  created as (
    insert into contacts (
      company_id, id, phone, phone_identity, first_name, search_text, source, source_type, email_consent, whatsapp_consent
    )
    select
      matched.company_id, matched.new_id, matched.phone, case when matched.has_phone then matched.identity end, matched.group_id,
      coalesce(matched.phone, lower(matched.group_id), ''), matched.source, matched.source_type,
      case when is_opted_out(matched.company_id, 'email', matched.identity) then false end,
      case
        when is_opted_out(matched.company_id, 'whatsapp', matched.identity) or is_opted_out(matched.company_id, 'whatsapp', matched.other)
          then false
      end
    from matched
    where matched.new_id is not null
  ),
  identified as (
    insert into contact_aliases (company_id, identity, contact_id)
    select matched.company_id, matched.identity, matched.new_id
    from matched
    where matched.new_id is not null and not matched.has_phone
    on conflict do nothing
  ),
  counted as (
    insert into contact_changes (company_id, change)
    select matched.company_id, count(*)
    from matched
    where matched.new_id is not null
    group by matched.company_id
  )
  select matched.company_id, matched.identity, coalesce(matched.known_id, matched.new_id)
  from matched;
end
$$;
