-- Drops the partition of messages of a month, counted since January 1970, when it ended more than `keep_days` days ago; returns
-- whether it did. Runs with the rights of its owner; the role must have the right to delete messages. Waits at most 30 ms for
-- locks (error 55P03), since later statements on the table would queue behind it.
create function drop_message_month(month integer, keep_days integer)
returns boolean
language plpgsql
security definer
set search_path = public, pg_temp
set lock_timeout = '30ms'
as $$
declare
  partition constant text := 'messages_' || to_char(date '1970-01-01' + make_interval(months => month), 'YYYYMM');
  ended_at constant timestamptz := (timestamp '1970-01-01' + make_interval(months => month + 1)) at time zone 'UTC';
begin
  if not has_table_privilege(session_user, 'messages', 'delete') then
    raise insufficient_privilege using message = 'The role may not delete messages';
  end if;
  if ended_at > now() - make_interval(days => greatest(keep_days, 8)) or to_regclass(partition) is null then
    return false;
  end if;
  execute format('drop table %I', partition);
  return true;
end
$$;
