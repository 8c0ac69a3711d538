-- Renews leases and returns the jobs that the caller must stop: claimed by another, free, or of a company that has been
-- removed; claim_jobs deletes the latter once they are given back. A job that is deleted, or that its handler completes in a
-- transaction at this moment, is not among them.
create function renew_jobs(ids bigint[], claim_ids uuid[], lease_ms integer)
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
  perform set_config('synchronous_commit', 'off', true);

  return query
  with mine as materialized (
    select held.id
    from unnest(ids, claim_ids) as one (id, claim_id)
    cross join lateral (
      select job.id from jobs job where job.id = one.id and job.claim_id = one.claim_id for update of job skip locked
    ) as held
  ),
  renewed as (
    update jobs job
    set lease_until = clock_timestamp() + lease_ms * interval '1 ms'
    where job.id = any (array(select mine.id from mine))
  )
  select held.id
  from unnest(ids, claim_ids) as one (id, claim_id)
  cross join lateral (
    select job.id, job.claim_id, job.company_id from jobs job where job.id = one.id limit 1
  ) as held
  where held.claim_id is distinct from one.claim_id
    or exists (select from companies company where company.id = held.company_id and company.deleted_at is not null);
end
$$;
