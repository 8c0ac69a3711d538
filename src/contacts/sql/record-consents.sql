-- Records changes of the consent of contacts in their history, and keeps opt-outs under the contacts' identities: for
-- WhatsApp the user ids and other numbers too.
create function record_consents(
  company bigint,
  contact_ids bigint[],
  channels text[],
  consents boolean[],
  by_client text,
  by_source text
)
returns void
language sql
as $$
  insert into consent_changes (company_id, contact_id, channel, value, client_id, source, at)
  select company, change.contact_id, change.channel, change.consent, by_client, by_source, statement_timestamp()
  from unnest(contact_ids, channels, consents) with ordinality as change (contact_id, channel, consent, place)
  order by change.place;

  select keep_opt_outs(
    company,
    array_agg(change.channel order by change.place),
    array_agg(known.identity order by change.place),
    array_agg(change.consent order by change.place)
  )
  from unnest(contact_ids, channels, consents) with ordinality as change (contact_id, channel, consent, place)
  cross join lateral (
    select consent_identity(change.channel, contacts.email_key, contacts.phone_identity)
    from contacts
    where (contacts.company_id, contacts.id) = (company, change.contact_id)
    union all
    select alias.identity
    from contact_aliases alias
    where (alias.company_id, alias.contact_id) = (company, change.contact_id) and change.channel = 'whatsapp'
  ) as known (identity);
$$;
