-- Everything that decides whether each of these sends may go out now, except the daily limit. A refused send takes no slot.
-- Slots are counted by the database's clock (present), the window by the caller's (at).
create function judge_sends(
  items send_item[],
  at timestamptz,
  present timestamptz,
  pair_seconds double precision,
  pair_burst integer,
  longest_wait double precision
)
returns judged_send[]
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  judged judged_send[];
begin
  with known as materialized (
    select
      item,
      coalesce(alias.customer, item.customer) as thread,
      conversation.last_inbound_at,
      conversation.next_message_at,
      coalesce(conversation.last_inbound_at <= at - interval '24 hours', true) as is_outside,
      identity.contact_id is not null as has_contact,
      case
        -- a contact's own word wins; without one, an opt-out that was kept under the identity counts
        when item.needs_consent and coalesce(
          not consent.whatsapp_consent, is_opted_out(item.company_id, 'whatsapp', item.customer)
        ) then 'consent'
        when item.needs_window and coalesce(conversation.last_inbound_at <= at - interval '24 hours', true) then 'window'
      end as refusal
    from unnest(items) as item
    -- Lateral with a limit: a probe of the index for each item, whatever the statistics say.
    left join lateral (
      select customer
      from customer_aliases known
      where (known.company_id, known.sender_id, known.alias) = (item.company_id, item.sender_id, item.customer)
      limit 1
    ) as alias on true
    left join lateral (
      select last_inbound_at, next_message_at
      from conversations known
      where (known.company_id, known.sender_id) = (item.company_id, item.sender_id)
        and known.customer = coalesce(alias.customer, item.customer)
      limit 1
    ) as conversation on true
    left join lateral (
      select contact_id
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
  ),
  paired as (
    select
      known.*,
      case
        when (item).slot_seconds is null then 0
        else greatest(0, extract(epoch from greatest(next_message_at, present) - present)::double precision
          + pair_seconds * (
            row_number() over (
              partition by (item).company_id, (item).sender_id, thread, refusal is null order by (item).ord
            ) - pair_burst
          ))
      end as pair_wait
    from known
  ),
  spaced as (
    select
      paired.*,
      case
        when (item).slot_seconds is null then 0
        else extract(epoch from greatest(counts.next_slot_at, present) - present)::double precision
          + (item).slot_seconds * (
            row_number() over (
              partition by (item).company_id, (item).sender_id, refusal is null and pair_wait <= longest_wait
              order by (item).ord
            ) - 1
          )
      end as slot_wait
    from paired
    left join sender_reach_counts counts
      on (counts.company_id, counts.sender_id) = ((item).company_id, (item).sender_id)
  )
  select array_agg(
    (
      item, thread, is_outside, last_inbound_at, has_contact,
      coalesce(refusal, case when greatest(pair_wait, slot_wait) > longest_wait then 'pace' end),
      null, greatest(pair_wait, slot_wait), slot_wait
    )::judged_send
  )
  into judged
  from spaced;
  return judged;
end
$$;
