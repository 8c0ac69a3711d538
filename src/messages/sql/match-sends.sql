-- Matches each of these sends to its conversation and contact, and decides whether consent or the 24-hour window
-- refuses it.
create function match_sends(items send_item[], at timestamptz)
returns table (
  item send_item, customer_key text, last_inbound_at timestamptz, next_message_at timestamptz, is_outside boolean,
  has_contact boolean, refusal text
)
language sql stable
as $$
  select
    item,
    coalesce(alias.customer, item.customer),
    conversation.last_inbound_at,
    conversation.next_message_at,
    coalesce(conversation.last_inbound_at <= at - interval '24 hours', true),
    identity.contact_id is not null,
    case
      -- The contact's own consent counts first; without one, an opt-out that was kept under the identity.
      when item.needs_consent and coalesce(
        not consent.whatsapp_consent, is_opted_out(item.company_id, 'whatsapp', item.customer)
      ) then 'consent'
      when item.needs_window and coalesce(conversation.last_inbound_at <= at - interval '24 hours', true) then 'window'
    end
  from unnest(items) as item
  -- Lateral with a limit: a probe of the index for each item, whatever the statistics say.
  left join lateral (
    select known.customer
    from customer_aliases known
    where (known.company_id, known.sender_id, known.alias) = (item.company_id, item.sender_id, item.customer)
    limit 1
  ) as alias on true
  left join lateral (
    select known.last_inbound_at, known.next_message_at
    from conversations known
    where (known.company_id, known.sender_id) = (item.company_id, item.sender_id)
      and known.customer = coalesce(alias.customer, item.customer)
    limit 1
  ) as conversation on true
  left join lateral (
    select known.contact_id
    from contact_identities known
    where (known.company_id, known.identity) = (item.company_id, item.customer)
    limit 1
  ) as identity on true
  left join lateral (
    select known.whatsapp_consent
    from contacts known
    where item.needs_consent and (known.company_id, known.id) = (item.company_id, identity.contact_id)
    limit 1
  ) as consent on true
$$;
