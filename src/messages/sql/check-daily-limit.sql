-- Which of these sends begin a conversation outside the window for the first time in 24 hours, and whether each exceeds the
-- daily limit. Those that do not take their ordinals.
create function check_daily_limit(sends send_decision[], at timestamptz)
returns send_decision[]
language plpgsql
as $$
declare
  counted send_decision[];
begin
  with newly_counted as (
    select
      (send.item).company_id,
      (send.item).sender_id,
      send.customer_key,
      min((send.item).daily_limit) as daily_limit,
      row_number() over (partition by (send.item).company_id, (send.item).sender_id order by min((send.item).ord)) as place
    from unnest(sends) as send
    where send.refusal is null
      and send.is_outside
      and (send.item).daily_limit is not null
      and not exists (
        select
        from daily_limit_entries entry
        where (entry.company_id, entry.sender_id, entry.customer)
            = ((send.item).company_id, (send.item).sender_id, send.customer_key)
          and entry.counted_at > at - interval '24 hours'
      )
    group by (send.item).company_id, (send.item).sender_id, send.customer_key
  ),
  counted_send as materialized (
    select
      newly.*,
      limits.last_ordinal + newly.place as ordinal,
      coalesce(earlier.counted_at, at) + interval '24 hours' as retry_at,
      limits.last_ordinal + newly.place - newly.daily_limit > limits.expired_ordinal
        and coalesce(earlier.counted_at > at - interval '24 hours', true) as is_over
    from newly_counted newly
    join sender_limits limits using (company_id, sender_id)
    left join daily_limit_entries earlier
      on (earlier.company_id, earlier.sender_id) = (newly.company_id, newly.sender_id)
      and earlier.ordinal = limits.last_ordinal + newly.place - newly.daily_limit
  ),
  recorded as (
    insert into daily_limit_entries (company_id, sender_id, ordinal, customer, counted_at)
    select counted_send.company_id, counted_send.sender_id, counted_send.ordinal, counted_send.customer_key, at
    from counted_send
    where not counted_send.is_over
  ),
  moved as (
    update sender_limits limits
    set last_ordinal = latest.ordinal
    from (
      select counted_send.company_id, counted_send.sender_id, max(counted_send.ordinal) as ordinal
      from counted_send
      where not counted_send.is_over
      group by counted_send.company_id, counted_send.sender_id
    ) as latest
    where (limits.company_id, limits.sender_id) = (latest.company_id, latest.sender_id)
  )
  select array_agg(
    (
      send.item, send.customer_key, send.is_outside, send.last_inbound_at, send.has_contact,
      coalesce(send.refusal, case when counted_send.is_over then 'limit' end),
      counted_send.retry_at, send.wait_seconds, send.slot_wait
    )::send_decision
  )
  into counted
  from unnest(sends) as send
  left join counted_send
    on (counted_send.company_id, counted_send.sender_id, counted_send.customer_key)
     = ((send.item).company_id, (send.item).sender_id, send.customer_key);
  return counted;
end
$$;
