-- Records changes of the consent of contacts, in their order: JSON rows of contact_id, channel and value. Keeps opt-outs under
-- the contacts' identities, for WhatsApp the user ids and other numbers too.
create function record_consents(company bigint, changes jsonb, by_client text, by_source text)
returns void
language sql
as $$
  insert into consent_changes (company_id, contact_id, channel, value, client_id, source, at)
  select company, change.contact_id, change.channel, change.value, by_client, by_source, statement_timestamp()
  from rows from (jsonb_to_recordset(changes) as (contact_id bigint, channel text, value boolean)) with ordinality
    as change (contact_id, channel, value, place)
  order by change.place;

  select keep_opt_outs(
    company, array_agg(row(change.channel, known.identity, change.value)::consent_answer order by change.place)
  )
  from rows from (jsonb_to_recordset(changes) as (contact_id bigint, channel text, value boolean)) with ordinality
    as change (contact_id, channel, value, place)
  cross join lateral (
    select consent_identity(change.channel, contacts.email_key, contacts.phone_identity)
    from contacts
    -- A company that the statistics do not contain counts as one row; in a select it counts as one of average size.
    where (contacts.company_id, contacts.id) = ((select company), change.contact_id)
    union all
    select alias.identity
    from contact_aliases alias
    where (alias.company_id, alias.contact_id) = ((select company), change.contact_id) and change.channel = 'whatsapp'
  ) as known (identity);
$$;
