-- Drops the oldest partition of envelopes, deliveries or delivery_attempts whose day lies more than `keep_days` days
-- back, and returns whether it dropped one: call it until it did not. Time alone decides: a delivery that was redelivered
-- and has not finished ends with its day, so that no company's open rows keep the data of another. Runs with the rights
-- of its owner; the role must have the right to delete deliveries. Waits at most 30 ms for locks (error 55P03), since later statements on the table would queue behind it.
create function drop_delivery_day(keep_days integer)
returns boolean
language plpgsql
security definer
set search_path = public, pg_temp
set lock_timeout = '30ms'
as $$
declare
  today constant integer := (now() at time zone 'UTC')::date - date '1970-01-01';
  partition record;
begin
  if not has_table_privilege(session_user, 'deliveries', 'delete') then
    raise insufficient_privilege using message = 'The role may not delete deliveries';
  end if;
  for partition in
    select parent.relname as parent, child.relname as name, to_date(right(child.relname, 8), 'YYYYMMDD') - date '1970-01-01' as day
    from pg_inherits
    join pg_class child on child.oid = pg_inherits.inhrelid
    join pg_class parent on parent.oid = pg_inherits.inhparent
    where pg_inherits.inhparent in ('envelopes'::regclass, 'deliveries'::regclass, 'delivery_attempts'::regclass)
    order by day, parent.relname = 'envelopes' -- deliveries before their envelopes
  loop
    exit when partition.day >= today - greatest(keep_days, 1);
    execute format('drop table %I', partition.name);
    return true;
  end loop;
  return false;
end
$$;
