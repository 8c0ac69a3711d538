-- Claims up to `units` batches of one kind, going round the lanes from `after_lane` on. A batch is one job, or with
-- unit_size > 1 the next jobs of one lane in order. A lane has at most lane_cap batches in flight, a company at most
-- company_cap over all its lanes of this kind. With wide_lanes, every other lane has one batch of narrow_size jobs instead.
--
-- Claims of one kind wait for each other, everything else passes: the batches in flight are counted after the lock is held,
-- so the caps hold across processes. The lock lasts for this one statement.
--
-- The first row of the answer has no id and reports the walk in the last three columns; its lane is where the next claim
-- continues. Due jobs of a removed company are deleted instead of claimed, whatever their kind; see renew_jobs for those that
-- run at its removal. A claim id of zeros belongs to no worker: the job waits at the head of an ordered lane (see reschedule_jobs).
create function claim_jobs(
  wanted_kind text,
  units integer,
  unit_size integer,
  lane_cap integer,
  company_cap integer,
  after_lane text,
  lease_ms integer,
  wide_lanes text[] default null,
  narrow_size integer default 1
)
returns table (
  id bigint,
  lane text,
  company_id bigint,
  subject_id bigint,
  due_at timestamptz,
  attempts integer,
  claim_id uuid,
  created_at timestamptz,
  saw_all boolean,
  saw_full boolean,
  next_due_in_ms integer
)
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
  at timestamptz;
  lanes_busy jsonb;
  companies_busy jsonb;
  nobody constant uuid := '00000000-0000-0000-0000-000000000000';
  most_lanes constant integer := least(units, 100); -- that give work to one claim
  most_steps constant integer := 1000;              -- over lanes that are full or not due
begin
  -- A claim that a crash of the server forgets is a job that is claimed again: not worth waiting for the disk.
  perform set_config('synchronous_commit', 'off', true);

  if not exists (
    select from jobs where kind = wanted_kind and claim_id is null and failed_at is null
  ) then
    return query
    select
      null::bigint, ''::text, null::bigint, null::bigint, null::timestamptz, null::integer, null::uuid,
      null::timestamptz, true, false, null::integer;
    return;
  end if;

  perform pg_advisory_xact_lock(hashtextextended(wanted_kind, 7237455202));
  at := clock_timestamp();

  -- Leases that ran out count for some seconds more, until recover_jobs has put their jobs back in their place:
  -- a lane in order must not begin its second unit before.
  select
    jsonb_object_agg(busy.lane, busy.units) filter (where busy.by_lane),
    jsonb_object_agg(busy.company_id, busy.held_by_workers) filter (where not busy.by_lane)
  into lanes_busy, companies_busy
  from (
    select
      jobs.lane,
      jobs.company_id,
      grouping(jobs.company_id) = 1 as by_lane,
      count(distinct jobs.claim_id) as units,
      count(distinct jobs.claim_id) filter (where jobs.claim_id <> nobody) as held_by_workers
    from jobs
    where jobs.kind = wanted_kind and jobs.lease_until > at - interval '5 s'
    group by grouping sets ((jobs.lane), (jobs.company_id))
  ) as busy
  where busy.by_lane or busy.company_id is not null;

  return query
  with recursive walk as (
    select
      0 as step, after_lane collate "C" as lane, null::bigint as company_id, null::timestamptz as due_at,
      0 as room, 0 as size, 0 as usable, false as wrapped
    union all
    select
      walk.step + 1, next.lane, next.company_id, next.due_at,
      free.room, bounds.size, walk.usable + (free.room > 0)::integer, next.wrapped
    from walk
    cross join lateral (
      ( -- the head of the next lane: one descent of the index, however long the lane before is
        select job.lane, job.company_id, job.due_at, walk.wrapped
        from jobs job
        where job.kind = wanted_kind and job.lane > walk.lane and job.claim_id is null and job.failed_at is null
        order by job.lane, job.due_at, job.id
        limit 1
      )
      union all
      ( -- after the last lane comes the first
        select job.lane, job.company_id, job.due_at, true
        from jobs job
        where job.kind = wanted_kind and not walk.wrapped and job.claim_id is null and job.failed_at is null
        order by job.lane, job.due_at, job.id
        limit 1
      )
      limit 1
    ) as next
    cross join lateral (
      select
        case when is_wide then lane_cap else 1 end as cap,
        case when is_wide then unit_size else narrow_size end as size
      from (select wide_lanes is null or next.lane = any (wide_lanes) as is_wide) as lane
    ) as bounds
    cross join lateral (
      select case
        when next.due_at > at then 0
        when coalesce((companies_busy ->> next.company_id::text)::integer, 0) >= company_cap then 0
        else greatest(bounds.cap - coalesce((lanes_busy ->> next.lane)::integer, 0), 0)
      end as room
    ) as free
    where walk.usable < most_lanes
      and walk.step < most_steps
      and not (next.wrapped and next.lane > after_lane)
  ),
  report as materialized (
    select
      (array_agg(walk.lane order by walk.step desc))[1] as last_lane,
      max(walk.usable) as lanes,
      max(walk.usable) < most_lanes and max(walk.step) < most_steps as saw_all,
      coalesce(bool_or(walk.due_at <= at and walk.room = 0), false) as passed_full,
      min(walk.due_at) filter (where walk.due_at > at) as next_due_at
    from walk
  ),
  candidate as (
    select
      walk.step, walk.lane, walk.company_id, job.id, job.due_at,
      (row_number() over (partition by walk.lane order by job.due_at, job.id) - 1) / walk.size as round
    from report
    join walk on walk.room > 0
    cross join lateral (
      select job.id, job.due_at
      from jobs job
      where job.kind = wanted_kind and job.lane = walk.lane and job.claim_id is null and job.failed_at is null
        and job.due_at <= at
      order by job.due_at, job.id
      -- twice a fair share: gives a long lane what short ones leave, and bounds the reading over all lanes
      limit least(walk.room, ceil(2.0 * units / report.lanes)) * walk.size
    ) as job
  ),
  unit as materialized (
    select
      candidate.step, candidate.lane, candidate.company_id, candidate.round,
      array_agg(candidate.id) as ids,
      row_number() over (partition by candidate.company_id order by candidate.round, candidate.step) as company_turn
    from candidate
    group by candidate.step, candidate.lane, candidate.company_id, candidate.round
  ),
  picked as materialized (
    select
      unit.*, gen_random_uuid() as claim_id,
      exists (
        select from companies company where company.id = unit.company_id and company.deleted_at is not null
      ) as is_removed
    from unit
    where unit.company_id is null
      or unit.company_turn <= company_cap - coalesce((companies_busy ->> unit.company_id::text)::integer, 0)
    order by unit.round, unit.step
    limit units
  ),
  locked as materialized (
    select mine.id, picked.claim_id, picked.is_removed
    from picked
    cross join lateral unnest(picked.ids) as one (id)
    cross join lateral (
      select job.id
      from jobs job
      where job.id = one.id
        -- still waiting; not written as the predicate of jobs_waiting, which would then be searched by id from end to end
        and num_nulls(job.claim_id, job.failed_at) = 2
      for update of job skip locked
    ) as mine
  ),
  removed as (
    delete from jobs job
    where job.id = any (array(select locked.id from locked where locked.is_removed))
  ),
  claim as materialized (
    select array_agg(locked.id) as ids, array_agg(locked.claim_id) as claim_ids from locked where not locked.is_removed
  ),
  claimed as (
    update jobs job
    set
      claim_id = (select claim.claim_ids[array_position(claim.ids, job.id)] from claim),
      lease_until = at + lease_ms * interval '1 ms'
    where job.id = any (array(select locked.id from locked where not locked.is_removed))
    returning
      job.id, job.lane, job.company_id, job.subject_id, job.due_at, job.attempts, job.claim_id, job.created_at
  )
  select
    null::bigint,
    coalesce((select picked.lane from picked order by picked.round desc, picked.step desc limit 1), report.last_lane),
    null::bigint, null::bigint, null::timestamptz, null::integer, null::uuid, null::timestamptz,
    report.saw_all,
    report.passed_full or (select count(*) from unit) > (select count(*) from picked),
    least(ceil(extract(epoch from report.next_due_at - at) * 1000), 2147483647)::integer
  from report
  union all
  (select claimed.*, null::boolean, null::boolean, null::integer from claimed order by claimed.due_at, claimed.id);
end
$$;
