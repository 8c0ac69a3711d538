-- Makes the partitions of envelopes, deliveries and delivery_attempts of a day since 1970 that are missing, and returns how many
-- it made. Runs with the rights of its owner, so that a role without DDL rights can run the service; the role must have the right
-- to write deliveries. Attaching takes no lock that readers or writers wait for.
create function make_delivery_day(day integer)
returns integer
language plpgsql
security definer
set search_path = public, pg_temp
as $$
declare
  today constant integer := (now() at time zone 'UTC')::date - date '1970-01-01';
  inserted integer := 0;
  parent text;
  partition text;
begin
  if not has_table_privilege(session_user, 'deliveries', 'insert') then
    raise insufficient_privilege using message = 'The role may not write deliveries';
  end if;
  if day is null or day not between today - 3650 and today + 3650 then
    raise invalid_parameter_value using message = 'A delivery names a day out of range';
  end if;
  perform pg_advisory_xact_lock(advisory_key('delivery days', ''));
  foreach parent in array array['envelopes', 'deliveries', 'delivery_attempts'] loop
    partition := parent || to_char(date '1970-01-01' + day, '_YYYYMMDD');
    if not has_table(partition) then
      execute format('create table %I (like %I including all)', partition, parent);
      execute format('alter table %I set (autovacuum_vacuum_insert_scale_factor = 0.5)', partition);
      execute format('alter table %I attach partition %I for values from (%s) to (%s)', parent, partition, day, day + 1);
      inserted := inserted + 1;
    end if;
  end loop;
  return inserted;
end
$$;
