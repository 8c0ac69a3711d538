-- Plans are made in the first minute of an installation, too, when nothing is known of its tables, and some are kept.

-- As long as nothing is known of a column, one row in two hundred is expected to be null: of the first forty thousand
-- contacts one would seem to live, and every index to lead to it. One thousand rows of a first list took most of a
-- minute. So it is shown that most contacts live.
insert into contacts (company_id, id, search_text, source, source_type)
overriding system value
select -1, -n, '', 'API', 'database' from generate_series(1, 100) as n;
analyze contacts (deleted_at);
delete from contacts where company_id = -1;

-- In the same way, each company is expected to have one row in two hundred, and rows are found by whatever index begins
-- with their company. Servers from 18 on can be told that a company may have all of them; the first analyze of a table
-- puts what it finds in the place of it.
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
