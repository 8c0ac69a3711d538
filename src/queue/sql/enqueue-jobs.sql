-- Enqueues jobs within the caller's transaction. A subject that is marked `once` and has a job is skipped, unless that job
-- has failed: then it starts again. Returns the number of jobs that are new or start again.
create function enqueue_jobs(items jsonb)
returns bigint
language plpgsql
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  enqueued bigint;
begin
  with item as materialized (
    select
      item.kind, item.lane, item.company_id, item.subject_id, item.once, ordinality,
      coalesce(item.due_at, now() + coalesce(item.due_in_ms, 0) * interval '1 ms') as due_at,
      row_number() over (partition by item.kind, item.company_id, item.subject_id, item.once order by ordinality) as repetition
    from rows from (
      jsonb_to_recordset(items) as (
        kind text, lane text, company_id bigint, subject_id bigint, once boolean, due_at timestamptz,
        due_in_ms double precision
      )
    ) with ordinality as item
  ),
  requested as materialized (
    select * from item where not item.once or item.repetition = 1
  ),
  revived as (
    update jobs job
    set due_at = requested.due_at, failed_at = null, attempts = 0, lease_expiries = 0
    from requested
    where requested.once
      and job.once
      and job.failed_at is not null
      and (job.kind, job.subject_id) = (requested.kind, requested.subject_id)
      and job.company_id is not distinct from requested.company_id
    returning job.id
  ),
  -- in one order for all sessions, so that two transactions that enqueue the same subjects cannot lock each other out
  enqueued as (
    insert into jobs (kind, lane, company_id, subject_id, once, due_at)
    select requested.kind, requested.lane, requested.company_id, requested.subject_id, requested.once, requested.due_at
    from requested
    order by requested.once, case when requested.once then requested.kind end, case when requested.once then requested.subject_id end,
      case when requested.once then requested.company_id end,
      requested.ordinality
    on conflict (kind, subject_id, company_id) where once do nothing
    returning id
  )
  select (select count(*) from revived) + (select count(*) from enqueued) into enqueued;
  return enqueued;
end
$$;
