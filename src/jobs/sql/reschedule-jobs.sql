-- Ends a run without ending the job. Per item: `at` or `after_ms` (when it is due again), `counts` (whether the run counts
-- as an attempt), `error`, and one of two marks: `hold` keeps the job at the head of its lane, which stays closed until it is
-- due; `set_aside` fails the job for good. Returns those that the caller still held.
create function reschedule_jobs(items jsonb)
returns setof bigint
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
begin
  return query
  with mine as materialized (
    select
      held.id, item.counts, item.error, item.set_aside,
      item.hold and not item.set_aside as hold,
      coalesce(item.at, clock_timestamp() + coalesce(item.after_ms, 0) * interval '1 ms') as due_at
    from (
      select *
      from jsonb_to_recordset(items) as item (
        id bigint, claim_id uuid, at timestamptz, after_ms double precision, counts boolean, error text, hold boolean,
        set_aside boolean
      )
      order by item.id
    ) as item
    cross join lateral (
      select job.id from jobs job where job.id = item.id and job.claim_id = item.claim_id for update of job
    ) as held
  )
  update jobs job
  set (due_at, claim_id, lease_until, attempts, lapses, failed_at, last_error) = (
    select
      case when mine.hold then job.due_at else mine.due_at end,
      case when mine.hold then nobody end,
      case when mine.hold then mine.due_at end,
      job.attempts + mine.counts::integer,
      0,
      case when mine.set_aside then clock_timestamp() end,
      coalesce(mine.error, job.last_error)
    from mine
    where mine.id = job.id
    limit 1
  )
  where job.id = any (array(select mine.id from mine))
  returning job.id;
end
$$;
