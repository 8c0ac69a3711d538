-- Creates the contacts that new items of a batch need. Returns the matches with them.
create function create_inbound_contacts(items inbound_item[], matches inbound_match[], source_type text)
returns inbound_match[]
language plpgsql
as $$
declare
  completed inbound_match[];
begin
  with entry as materialized (
    select * from rows from (unnest(items), unnest(matches))
  ),
  created as materialized (
    select contact.*
    from resolve_contacts(array(
      select (
        entry.company_id, entry.contact_identity, entry.phone, entry.other, 'WhatsApp', source_type
      )::customer_contact
      from entry
      where entry.is_new and entry.contact_id is null
      order by entry.ord
    )) as contact
  )
  select array_agg(
    (
      entry.is_new, entry.conversation_id, entry.customer_key, coalesce(entry.contact_id, created.contact_id),
      entry.contact_identity
    )::inbound_match
    order by entry.ord
  )
  into completed
  from entry
  left join created on (created.company_id, created.identity) = (entry.company_id, entry.contact_identity);
  return completed;
end
$$;
