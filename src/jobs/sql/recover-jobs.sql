-- Requeues jobs whose lease has expired. A job that outlived `most_lapses` workers fails: it may be what kills them.
-- Returns the number of jobs that were requeued or have failed.
create function recover_jobs(kinds text[], most_lapses integer)
returns bigint
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
  nobody constant uuid := '00000000-0000-0000-0000-000000000000';
  recovered bigint;
begin
  with lapsed as materialized (
    select job.id
    from unnest(kinds) as one (kind)
    cross join lateral (
      select job.id from jobs job where job.kind = one.kind and job.lease_until <= now() for update of job skip locked
    ) as job
  )
  update jobs job
  set
    claim_id = null,
    lease_until = null,
    lapses = job.lapses + (job.claim_id <> nobody)::integer,
    failed_at = case
      when job.lapses + (job.claim_id <> nobody)::integer >= most_lapses then clock_timestamp()
    end,
    last_error = case
      when job.lapses + (job.claim_id <> nobody)::integer >= most_lapses
        then 'The lease ran out ' || job.lapses + (job.claim_id <> nobody)::integer || ' times'
      else job.last_error
    end
  where job.id = any (array(select lapsed.id from lapsed));
  get diagnostics recovered = row_count;
  return recovered;
end
$$;
