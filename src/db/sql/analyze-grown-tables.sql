-- Gathers the statistics of tables that have grown tenfold since their last statistics, and returns how many. A plan that was
-- made while a table was empty may read all of it; new statistics make all sessions plan again. Runs with the rights of its
-- owner, since only the owner of a table may analyze it; the role must have the right to write deliveries. A table that
-- another session has locked is left to the next call: asking for its size would wait for the lock.
create function analyze_grown_tables()
returns integer
language plpgsql
security definer
set search_path = public, pg_temp
set lock_timeout = '1ms'
as $$
declare
  smallest constant integer := 2; -- pages: reading 20 pages costs less than statistics
  analyzed integer := 0;
  own record;
begin
  if not has_table_privilege(session_user, 'deliveries', 'insert') then
    raise insufficient_privilege using message = 'The role may not write deliveries';
  end if;
  if not pg_try_advisory_xact_lock(advisory_key('statistics', '')) then
    return 0;
  end if;
  for own in
    select relation.oid, relation.relname, relation.relpages
    from pg_class relation
    where relation.relnamespace = 'public'::regnamespace
      and relation.relkind = 'r'
      and pg_get_userbyid(relation.relowner) = current_user
  loop
    begin
      continue when pg_relation_size(own.oid)
        < 10 * greatest(own.relpages, smallest) * current_setting('block_size')::bigint;
      execute format('analyze (skip_locked) %I', own.relname);
      analyzed := analyzed + 1;
    exception when lock_not_available then
      null;
    end;
  end loop;
  return analyzed;
end
$$;
