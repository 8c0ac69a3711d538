-- Decides whether each of these sends may go out now; the daily limit is checked later. A refused send takes no slot.
-- The clock of the slots is the database's (present), that of the window the caller's (at).
create function decide_sends(
  items send_item[],
  at timestamptz,
  present timestamptz,
  pair_seconds double precision,
  pair_burst integer,
  longest_wait double precision
)
returns send_decision[]
language plpgsql
as $$
declare
  decided send_decision[];
begin
  with known as materialized (
    select * from match_sends(items, at)
  ),
  paired as (
    select
      known.*,
      case
        when (item).slot_seconds is null then 0
        else greatest(0, extract(epoch from greatest(next_message_at, present) - present)::double precision
          + pair_seconds * (
            row_number() over (
              partition by (item).company_id, (item).sender_id, customer_key, refusal is null order by (item).ord
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
        else extract(epoch from greatest(limits.next_slot_at, present) - present)::double precision
          + (item).slot_seconds * (
            row_number() over (
              partition by (item).company_id, (item).sender_id, refusal is null and pair_wait <= longest_wait
              order by (item).ord
            ) - 1
          )
      end as slot_wait
    from paired
    left join sender_limits limits
      on (limits.company_id, limits.sender_id) = ((item).company_id, (item).sender_id)
  )
  select array_agg(
    (
      item, customer_key, is_outside, last_inbound_at, has_contact,
      coalesce(refusal, case when greatest(pair_wait, slot_wait) > longest_wait then 'throttle' end),
      null, greatest(pair_wait, slot_wait), slot_wait
    )::send_decision
  )
  into decided
  from spaced;
  return decided;
end
$$;
