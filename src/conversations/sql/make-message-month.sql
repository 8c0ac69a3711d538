-- Makes the partition of messages for a month, counted since January 1970, if it is missing; returns whether it was. Each has
-- unique indexes of its own: a unique index of the whole table would need the id. Runs with the rights of its owner, so that a
-- role without DDL rights can run the service; the role must have the right to write messages. Attaching takes no lock that
-- readers or writers wait for.
create function make_message_month(month integer)
returns boolean
language plpgsql
security definer
set search_path = public, pg_temp
as $$
declare
  months_of_century constant integer := 1200;
  partition constant text := 'messages_' || to_char(date '1970-01-01' + make_interval(months => month), 'YYYYMM');
begin
  if not has_table_privilege(session_user, 'messages', 'insert') then
    raise insufficient_privilege using message = 'The role may not write messages';
  end if;
  if month is null or month not between 1 and months_of_century then
    raise invalid_parameter_value using message = 'A message id names a month out of range';
  end if;
  if has_table(partition) then
    return false;
  end if;
  perform pg_advisory_xact_lock(advisory_key('message months', ''));
  if has_table(partition) then
    return false;
  end if;
  execute format('create table %I (like messages including all)', partition);
  execute format('create unique index on %I (company_id, conversation_id, seq)', partition);
  execute format('create unique index on %I (company_id, wamid) where wamid is not null', partition);
  execute format(
    'alter table messages attach partition %I for values from (%s) to (%s)',
    partition, month * 1000000000000, (month + 1) * 1000000000000
  );
  return true;
end
$$;
