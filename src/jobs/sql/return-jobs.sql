-- Returns claimed jobs unchanged, due at once: a worker that stops has not completed them.
create function return_jobs(ids bigint[], claim_ids uuid[])
returns setof bigint
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
begin
  return query
  with mine as materialized (
    select held.id
    from (select * from unnest(ids, claim_ids) as one (id, claim_id) order by one.id) as one
    cross join lateral (
      select job.id from jobs job where job.id = one.id and job.claim_id = one.claim_id for update of job skip locked
    ) as held
  )
  update jobs job
  set claim_id = null, lease_until = null
  where job.id = any (array(select mine.id from mine))
  returning job.id;
end
$$;
