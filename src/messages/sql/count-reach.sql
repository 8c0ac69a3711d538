-- Which of these sends begin a conversation outside the window for the first time in 24 hours, and whether each exceeds the
-- daily limit. Those that do not take their ordinals.
create function count_reach(sends judged_send[], at timestamptz)
returns judged_send[]
language plpgsql
as $$
declare
  counted judged_send[];
begin
  with newly_reached as (
    select
      (send.item).company_id,
      (send.item).sender_id,
      send.thread,
      min((send.item).daily_limit) as daily_limit,
      row_number() over (partition by (send.item).company_id, (send.item).sender_id order by min((send.item).ord)) as place
    from unnest(sends) as send
    where send.refusal is null
      and send.is_outside
      and (send.item).daily_limit is not null
      and not exists (
        select
        from sender_reach reached
        where (reached.company_id, reached.sender_id, reached.customer)
            = ((send.item).company_id, (send.item).sender_id, send.thread)
          and reached.reached_at > at - interval '24 hours'
      )
    group by (send.item).company_id, (send.item).sender_id, send.thread
  ),
  reach as materialized (
    select
      newly.*,
      counts.reached + newly.place as ordinal,
      coalesce(earlier.reached_at, at) + interval '24 hours' as retry_at,
      counts.reached + newly.place - newly.daily_limit > counts.forgotten
        and coalesce(earlier.reached_at > at - interval '24 hours', true) as is_over
    from newly_reached newly
    join sender_reach_counts counts using (company_id, sender_id)
    left join sender_reach earlier
      on (earlier.company_id, earlier.sender_id) = (newly.company_id, newly.sender_id)
      and earlier.ordinal = counts.reached + newly.place - newly.daily_limit
  ),
  recorded as (
    insert into sender_reach (company_id, sender_id, ordinal, customer, reached_at)
    select reach.company_id, reach.sender_id, reach.ordinal, reach.thread, at
    from reach
    where not reach.is_over
  ),
  moved as (
    update sender_reach_counts counts
    set reached = latest.ordinal
    from (
      select reach.company_id, reach.sender_id, max(reach.ordinal) as ordinal
      from reach
      where not reach.is_over
      group by reach.company_id, reach.sender_id
    ) as latest
    where (counts.company_id, counts.sender_id) = (latest.company_id, latest.sender_id)
  )
  select array_agg(
    (
      send.item, send.thread, send.is_outside, send.last_inbound_at, send.has_contact,
      coalesce(send.refusal, case when reach.is_over then 'limit' end),
      reach.retry_at, send.wait_seconds, send.slot_wait
    )::judged_send
  )
  into counted
  from unnest(sends) as send
  left join reach
    on (reach.company_id, reach.sender_id, reach.thread)
     = ((send.item).company_id, (send.item).sender_id, send.thread);
  return counted;
end
$$;
