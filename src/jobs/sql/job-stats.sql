-- The state of each kind of job. Reads at most the heads of most_lanes lanes and most_counted + 1 due jobs.
create function job_stats(most_lanes integer, most_counted integer)
returns table (
  kind text,
  due bigint,
  in_flight bigint,
  oldest_due_age_seconds double precision,
  set_aside bigint
)
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  nobody constant uuid := '00000000-0000-0000-0000-000000000000';
begin
  return query
  with recursive waiting_kind as (
    (select job.kind from jobs job where job.claim_id is null and job.failed_at is null order by job.kind limit 1)
    union all
    select next.kind
    from waiting_kind
    cross join lateral (
      select job.kind
      from jobs job
      where job.kind > waiting_kind.kind and job.claim_id is null and job.failed_at is null
      order by job.kind
      limit 1
    ) as next
  ),
  head as (
    select waiting_kind.kind, ''::text collate "C" as lane, null::timestamptz as due_at, 0 as step from waiting_kind
    union all
    select head.kind, next.lane, next.due_at, head.step + 1
    from head
    cross join lateral (
      select job.lane, job.due_at
      from jobs job
      where job.kind = head.kind and job.lane > head.lane and job.claim_id is null and job.failed_at is null
      order by job.lane, job.due_at
      limit 1
    ) as next
    where head.step < most_lanes
  ),
  due_lane as materialized (
    select head.kind, head.lane, head.due_at from head where head.due_at <= now()
  ),
  leased as (
    select job.kind, count(*) as jobs
    from jobs job
    where job.lease_until is not null and job.claim_id <> nobody
    group by job.kind
  ),
  failed as (
    select job.kind, count(*) as jobs from jobs job where job.failed_at is not null group by job.kind
  )
  select
    every.kind,
    (
      select count(*)
      from (
        select
        from due_lane
        cross join lateral (
          select
          from jobs job
          where job.kind = due_lane.kind and job.lane = due_lane.lane and job.due_at <= now()
            and job.claim_id is null and job.failed_at is null
          limit most_counted + 1
        ) as one
        where due_lane.kind = every.kind
        limit most_counted + 1
      ) as counted
    ),
    coalesce((select leased.jobs from leased where leased.kind = every.kind), 0),
    coalesce(
      (select extract(epoch from now() - min(due_lane.due_at)) from due_lane where due_lane.kind = every.kind), 0
    )::double precision,
    coalesce((select failed.jobs from failed where failed.kind = every.kind), 0)
  from (
    select waiting_kind.kind from waiting_kind
    union
    select leased.kind from leased
    union
    select failed.kind from failed
  ) as every
  order by every.kind;
end
$$;
