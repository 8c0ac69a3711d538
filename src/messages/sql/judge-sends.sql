-- Decides whether each of these sends may go out now, except by the daily limit. A refused send takes no slot.
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
as $$
declare
  judged judged_send[];
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
