-- Locks the sender_limits rows of the senders whose sends a daily limit or a throttle concerns, in the same order everywhere.
create function lock_sender_limits(items send_item[])
returns void
language plpgsql
as $$
begin
  perform 1
  from sender_limits limits
  where (limits.company_id, limits.sender_id) in (
    select item.company_id, item.sender_id
    from unnest(items) as item
    where item.daily_limit is not null or item.slot_seconds is not null
  )
  order by limits.company_id, limits.sender_id
  for update;
end
$$;
