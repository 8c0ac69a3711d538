-- Leased jobs. Work is enqueued in the transaction that makes it necessary, claimed in batches under a lease, and
-- finished by deletion. Why there is no table of lanes: docs/decisions/0001-leased-jobs.md.
--
-- A job is in one of three places, each with its own index, so none is ever searched for another's rows:
--   waiting    claim_id is null and failed_at is null
--   leased     lease_until is not null (then claim_id is set, too)
--   set aside  failed_at is not null

create table jobs (
  id bigint generated always as identity primary key,
  kind text collate "C" not null,
  lane text collate "C" not null,          -- what must not crowd out others; belongs to one company or to none
  company_id bigint,                       -- null: work for the whole service
  subject_id bigint not null,              -- the row that the job is about
  once boolean not null default false,     -- the subject has at most one job of this kind
  due_at timestamptz not null default now(),
  attempts integer not null default 0,     -- failed runs that a handler answered for
  lapses integer not null default 0,       -- leases that ran out since the last answer
  claim_id uuid,                           -- one for each unit claimed together; finishing must name it
  lease_until timestamptz,
  failed_at timestamptz,
  last_error text check (length(last_error) <= 500),
  created_at timestamptz not null default now(),
  constraint jobs_leased_with_claim check ((claim_id is null) = (lease_until is null)),
  constraint jobs_failed_without_claim check (failed_at is null or claim_id is null)
);

create index jobs_waiting on jobs (kind, lane, due_at, id) where claim_id is null and failed_at is null;
create index jobs_leased on jobs (kind, lease_until) where lease_until is not null;
create index jobs_failed on jobs (kind, subject_id) where failed_at is not null;
create unique index jobs_once on jobs (kind, subject_id) where once;

-- Every job leaves two dead rows within seconds: clean by count, not by share of the table, and without pauses.
alter table jobs set (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.5
);

-- The functions below are told which plans not to use: the table is empty in one minute and holds a million rows in
-- the next, and a plan that was cached for the empty one would read it from end to end.

-- Claims up to `units` units of one kind, going round the lanes from `after_lane` on. A unit is one job, or with
-- unit_size > 1 the next jobs of one lane in order. A lane has at most lane_cap units in flight, a company at most
-- company_cap over all its lanes of this kind.
--
-- Claims of one kind wait for each other, everything else goes past: what is in flight is counted after the lock is
-- held, so the caps hold across processes. The lock lasts as long as this one statement.
--
-- The first row of the answer has no id and reports the walk in the last three columns, its lane being where the next
-- claim should go on.
-- A claim id of zeros is nobody's: the job waits in its place at the head of a lane in order (see reschedule_jobs).
create function claim_jobs(
  wanted_kind text,
  units integer,
  unit_size integer,
  lane_cap integer,
  company_cap integer,
  after_lane text,
  lease_ms integer
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
  saw_all boolean,         -- whether every lane was looked at
  saw_full boolean,        -- whether due work was passed over because of a cap
  next_due_in_ms integer   -- until the next job that was seen falls due
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
      0 as room, 0 as usable, false as wrapped
    union all
    select
      walk.step + 1, next.lane, next.company_id, next.due_at,
      free.room, walk.usable + (free.room > 0)::integer, next.wrapped
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
      select case
        when next.due_at > at then 0
        when coalesce((companies_busy ->> next.company_id::text)::integer, 0) >= company_cap then 0
        else greatest(lane_cap - coalesce((lanes_busy ->> next.lane)::integer, 0), 0)
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
      (row_number() over (partition by walk.lane order by job.due_at, job.id) - 1) / unit_size as round
    from report
    join walk on walk.room > 0
    cross join lateral (
      select job.id, job.due_at
      from jobs job
      where job.kind = wanted_kind and job.lane = walk.lane and job.claim_id is null and job.failed_at is null
        and job.due_at <= at
      order by job.due_at, job.id
      -- twice a fair share: gives a long lane what short ones leave, and bounds the reading over all lanes
      limit least(walk.room, ceil(2.0 * units / report.lanes)) * unit_size
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
    select unit.*, gen_random_uuid() as claim_id
    from unit
    where unit.company_id is null
      or unit.company_turn <= company_cap - coalesce((companies_busy ->> unit.company_id::text)::integer, 0)
    order by unit.round, unit.step
    limit units
  ),
  locked as materialized (
    select job.id, picked.claim_id
    from picked
    cross join lateral unnest(picked.ids) as one (id)
    join jobs job on job.id = one.id
    -- still waiting; not written as the predicate of jobs_waiting, which would then be searched by id from end to end
    where num_nulls(job.claim_id, job.failed_at) = 2
    for update of job skip locked
  ),
  claimed as (
    update jobs job
    set claim_id = locked.claim_id, lease_until = at + lease_ms * interval '1 ms'
    from locked
    where job.id = locked.id
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

-- Ends jobs by deletion. Returns those that were still the caller's: after a lost lease the claim id is another's.
create function finish_jobs(ids bigint[], claim_ids uuid[])
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
    select job.id
    from unnest(ids, claim_ids) as one (id, claim_id)
    join jobs job on job.id = one.id
    where job.claim_id = one.claim_id
    order by job.id
    for update of job
  )
  delete from jobs job
  using mine
  where job.id = mine.id
  returning job.id;
end
$$;

-- Ends a run without ending the job. Per item: `at` or `after_ms` (when it is due again), `counts` (whether the run
-- counts as an attempt), `error`, and one of two marks: `hold` keeps the job in its place, and so its lane closed,
-- until it is due; `set_aside` takes it out of the way for good. Returns those that were still the caller's.
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
      job.id, item.counts, item.error, item.set_aside,
      item.hold and not item.set_aside as hold,
      coalesce(item.at, clock_timestamp() + coalesce(item.after_ms, 0) * interval '1 ms') as due_at
    from jsonb_to_recordset(items) as item (
      id bigint, claim_id uuid, at timestamptz, after_ms double precision, counts boolean, error text, hold boolean,
      set_aside boolean
    )
    join jobs job on job.id = item.id
    where job.claim_id = item.claim_id
    order by job.id
    for update of job
  )
  update jobs job
  set
    due_at = case when mine.hold then job.due_at else mine.due_at end,
    claim_id = case when mine.hold then nobody end,
    lease_until = case when mine.hold then mine.due_at end,
    attempts = job.attempts + mine.counts::integer,
    lapses = 0,
    failed_at = case when mine.set_aside then clock_timestamp() end,
    last_error = coalesce(mine.error, job.last_error)
  from mine
  where job.id = mine.id
  returning job.id;
end
$$;

-- Gives claimed jobs back unchanged, due at once: a worker that stops has not run them to an end.
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
    select job.id
    from unnest(ids, claim_ids) as one (id, claim_id)
    join jobs job on job.id = one.id
    where job.claim_id = one.claim_id
    order by job.id
    for update of job skip locked
  )
  update jobs job
  set claim_id = null, lease_until = null
  from mine
  where job.id = mine.id
  returning job.id;
end
$$;

-- Renews leases, and returns the jobs that are the caller's no longer: claimed by another, or free. A job that is gone
-- is not among them, nor one that its handler is finishing in a transaction at this moment.
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
  with renewed as (
    update jobs job
    set lease_until = clock_timestamp() + lease_ms * interval '1 ms'
    from (
      select mine.id
      from unnest(ids, claim_ids) as one (id, claim_id)
      join jobs mine on mine.id = one.id
      where mine.claim_id = one.claim_id
      for update of mine skip locked
    ) as mine
    where job.id = mine.id
  )
  select job.id
  from unnest(ids, claim_ids) as one (id, claim_id)
  join jobs job on job.id = one.id
  where job.claim_id is distinct from one.claim_id;
end
$$;

-- Puts jobs whose lease ran out back in their place. One that has now outlived `most_lapses` workers is set aside: it
-- may be what kills them. Returns how many were put back or set aside.
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
    select job.id, job.lapses + (job.claim_id <> nobody)::integer as lapses
    from unnest(kinds) as one (kind)
    join jobs job on job.kind = one.kind and job.lease_until <= now()
    for update of job skip locked
  )
  update jobs job
  set
    claim_id = null,
    lease_until = null,
    lapses = lapsed.lapses,
    failed_at = case when lapsed.lapses >= most_lapses then clock_timestamp() end,
    last_error = case
      when lapsed.lapses >= most_lapses then 'The lease ran out ' || lapsed.lapses || ' times'
      else job.last_error
    end
  from lapsed
  where job.id = lapsed.id;
  get diagnostics recovered = row_count;
  return recovered;
end
$$;

-- Puts jobs up within the caller's transaction; a subject that is marked `once` and has a job is passed over, unless
-- that job was set aside: then it starts afresh. Returns how many are new or start afresh.
create function enqueue_jobs(items jsonb)
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
  enqueued bigint;
begin
  with item as materialized (
    select
      item.kind, item.lane, item.company_id, item.subject_id, item.once, ordinality,
      coalesce(item.due_at, now() + coalesce(item.due_in_ms, 0) * interval '1 ms') as due_at,
      row_number() over (partition by item.kind, item.subject_id, item.once order by ordinality) as repetition
    from rows from (
      jsonb_to_recordset(items) as (
        kind text, lane text, company_id bigint, subject_id bigint, once boolean, due_at timestamptz,
        due_in_ms double precision
      )
    ) with ordinality as item
  ),
  wanted as materialized (
    select * from item where not item.once or item.repetition = 1
  ),
  revived as (
    update jobs job
    set due_at = wanted.due_at, failed_at = null, attempts = 0, lapses = 0
    from wanted
    where wanted.once
      and job.once
      and job.failed_at is not null
      and (job.kind, job.subject_id) = (wanted.kind, wanted.subject_id)
    returning job.id
  ),
  -- in one order for everybody, so that two transactions that enqueue the same subjects cannot lock each other out
  enqueued as (
    insert into jobs (kind, lane, company_id, subject_id, once, due_at)
    select wanted.kind, wanted.lane, wanted.company_id, wanted.subject_id, wanted.once, wanted.due_at
    from wanted
    order by wanted.once, case when wanted.once then wanted.kind end, case when wanted.once then wanted.subject_id end,
      wanted.ordinality
    on conflict (kind, subject_id) where once do nothing
    returning id
  )
  select (select count(*) from revived) + (select count(*) from enqueued) into enqueued;
  return enqueued;
end
$$;

-- How each kind stands: never reads more than the heads of most_lanes lanes and most_counted + 1 due jobs.
create function job_stats(most_lanes integer, most_counted integer)
returns table (kind text, due bigint, in_flight bigint, oldest_due_age_seconds double precision, set_aside bigint)
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
