-- A new conversation held its company's count until its transaction ended, and all other transactions with new
-- conversations of that company waited for it. Each server process counts for itself now, in a row of sixteen; the total
-- is their sum.

alter table conversation_counts
  add column writer smallint not null default pg_backend_pid() % 16,
  drop constraint conversation_counts_pkey,
  add primary key (company_id, writer);

-- Whoever counts adds to the row of its own process from now on. Only the key changes: the functions stay as they are.
do $$
declare
  definition text;
begin
  for definition in
    select pg_get_functiondef(oid)
    from pg_proc
    where pronamespace = 'public'::regnamespace and prosrc like '%insert into conversation_counts%'
  loop
    execute replace(
      definition,
      'on conflict (company_id) do update set total = kept.total',
      'on conflict (company_id, writer) do update set total = kept.total'
    );
  end loop;
end
$$;
