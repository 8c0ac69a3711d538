-- Who writes many contacts at once has each statement planned for what the tables are now (people-lock.ts). A plan that
-- was kept since there were no contacts finds people in whatever index begins with their company: in a new installation
-- one thousand rows of a list could take a minute.
alter function lock_contacts(bigint, text[], text[], bigint[], text[]) reset plan_cache_mode;

-- As long as nothing is known of a column, one row in two hundred is expected to be null: of the first forty thousand
-- contacts one would seem to live, and every index to lead to it. So it is shown that most of them do.
insert into contacts (company_id, id, search_text, source, source_type)
overriding system value
select -1, -n, '', 'API', 'database' from generate_series(1, 100) as n;
analyze contacts (deleted_at);
delete from contacts where company_id = -1;

-- In the same way, of a table of which nothing is known yet each company is expected to have one row in two hundred, and
-- plans that are made in the first minute find a row by whatever begins with its company. Servers from 18 on can be told
-- that a company may have all of them; the first analyze of a table puts what it finds in the place of it.
do $$
declare
  name text;
begin
  if current_setting('server_version_num')::integer < 180000 then
    return;
  end if;
  for name in
    select class.relname
    from pg_class class
    join pg_attribute attribute on attribute.attrelid = class.oid and attribute.attname = 'company_id'
    where class.relkind = 'r' and class.relnamespace = current_schema()::regnamespace
      and not exists (
        select from pg_stats
        where pg_stats.schemaname = current_schema() and pg_stats.tablename = class.relname
          and pg_stats.attname = 'company_id'
      )
  loop
    perform pg_restore_attribute_stats(
      'schemaname', current_schema()::text, 'relname', name, 'attname', 'company_id', 'inherited', false,
      'null_frac', 0::real, 'avg_width', 8, 'n_distinct', 1::real
    );
  end loop;
end
$$;
