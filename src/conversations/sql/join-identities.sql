-- Keeps what new items of a batch say about the identities of one customer: each leads to the same contact and the same
-- conversation from now on.
create function join_identities(items inbound_item[], matches inbound_match[], at timestamptz)
returns void
language plpgsql
as $$
begin
  insert into contact_aliases (company_id, identity, contact_id)
  select distinct on (entry.company_id, identity.name) entry.company_id, identity.name, entry.contact_id
  from rows from (unnest(items), unnest(matches)) as entry
  cross join lateral (values (entry.customer), (entry.other)) as identity (name)
  where entry.is_new and entry.other is not null and identity.name <> entry.contact_identity
  order by entry.company_id, identity.name, entry.ord
  on conflict do nothing;

  insert into customer_aliases (company_id, sender_id, alias, customer)
  select distinct on (entry.company_id, entry.sender_id, identity.name)
    entry.company_id, entry.sender_id, identity.name, entry.customer_key
  from rows from (unnest(items), unnest(matches)) as entry
  cross join lateral (values (entry.customer), (entry.other)) as identity (name)
  where entry.is_new and entry.other is not null and identity.name <> entry.customer_key
  order by entry.company_id, entry.sender_id, identity.name, entry.ord
  on conflict do nothing;

  -- A contact that was known by a user id alone shows its phone number now. No other contact has the number.
  update contacts kept
  set
    phone = shown.phone,
    phone_identity = shown.customer,
    search_text = concat_ws(chr(10), nullif(kept.search_text, ''), shown.phone),
    updated_at = at
  from (
    select distinct on (entry.company_id, entry.contact_identity)
      entry.company_id, entry.contact_id, entry.phone, entry.customer
    from rows from (unnest(items), unnest(matches)) as entry
    where entry.is_new and entry.contact_identity = entry.other and entry.phone is not null
    order by entry.company_id, entry.contact_identity, entry.ord
  ) as shown
  where (kept.company_id, kept.id) = (shown.company_id, shown.contact_id) and kept.phone is null;
end
$$;
