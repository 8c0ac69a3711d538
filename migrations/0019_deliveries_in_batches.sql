-- Deliveries are put up and attempts settled in one pass each; what finds jobs by their ids does so whatever the planner
-- believes.
--
-- The plans of these functions are made once and kept. Made while the table of jobs was empty, a join with it may read
-- all of it from end to end: claims took ten times as long over a backlog that had come since. So no jobs are joined:
-- they are looked up one by one, laterally (what locks rows or has a limit is never merged into the query around it),
-- or by an array of ids, which only the primary key can answer.

-- Every delivery's row is updated once at least: with half a page to spare that touches no index.
alter table deliveries set (fillfactor = 50);

-- While there are no statistics all indexes that begin with the company look equal, and the newest is taken: the first
-- thousands of deliveries were each found by reading all of their company's. So the primary key is made the newest.
alter table delivery_attempts drop constraint delivery_attempts_company_id_delivery_id_fkey;
alter table deliveries drop constraint deliveries_pkey, add primary key (company_id, id);
alter table delivery_attempts add foreign key (company_id, delivery_id) references deliveries (company_id, id);

-- As in 0008_jobs.sql but for `locked`, `claim` and `claimed`.
create or replace function claim_jobs(
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
    select mine.id, picked.claim_id
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
  claim as materialized (
    select array_agg(locked.id) as ids, array_agg(locked.claim_id) as claim_ids from locked
  ),
  claimed as (
    update jobs job
    set
      claim_id = (select claim.claim_ids[array_position(claim.ids, job.id)] from claim),
      lease_until = at + lease_ms * interval '1 ms'
    where job.id = any (array(select locked.id from locked))
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

create or replace function finish_jobs(ids bigint[], claim_ids uuid[])
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
      select job.id from jobs job where job.id = one.id and job.claim_id = one.claim_id for update of job
    ) as held
  )
  delete from jobs job
  where job.id = any (array(select mine.id from mine))
  returning job.id;
end
$$;

create or replace function return_jobs(ids bigint[], claim_ids uuid[])
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

create or replace function renew_jobs(ids bigint[], claim_ids uuid[], lease_ms integer)
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
  cross join lateral (select job.id, job.claim_id from jobs job where job.id = one.id limit 1) as held
  where held.claim_id is distinct from one.claim_id;
end
$$;

create or replace function recover_jobs(kinds text[], most_lapses integer)
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

create or replace function reschedule_jobs(items jsonb)
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

drop function settle_attempts(bigint[], uuid[], jsonb, jsonb);
drop function record_attempts(jsonb);

-- Ends the attempts' jobs, or gives them another time (`after_ms`), and writes for each that was still the caller's
-- one log row and what becomes of its delivery. Only who still holds a job may say that: otherwise one whose lease was
-- lost could record a failure over which the other's success is dropped, and the delivery would be left without a job.
-- An attempt that is logged already, or belongs to a round that is over, changes nothing but its job.
--
-- items: [{job_id, claim_id, after_ms, round, attempt, status_code, response, error_message, duration_ms, sent_at,
--          status_after, next_attempt_at}]; which delivery it was says the job.
create function settle_attempts(items jsonb)
returns void
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
  held bigint[]; -- the jobs that are still the caller's
  places tid[];  -- of the deliveries that still wait for just this attempt
begin
  -- Locked here, so that the next statement finds them where they are.
  select array_agg(job.id), array_agg(delivery.ctid) filter (where delivery.ctid is not null)
  into held, places
  from (
    select *
    from jsonb_to_recordset(items) as given (job_id bigint, claim_id uuid, round integer, attempt integer)
    order by given.job_id -- one order of locks for all who settle at once
  ) as given
  cross join lateral (
    select job.id, job.company_id, job.subject_id
    from jobs job
    where job.id = given.job_id and job.claim_id = given.claim_id
    for update of job
  ) as job
  left join lateral (
    select delivery.ctid
    from deliveries delivery
    where delivery.company_id = job.company_id
      and delivery.id = job.subject_id
      and delivery.round = given.round
      and delivery.attempts = given.attempt - 1
      and delivery.status = 'pending'
    for no key update of delivery
  ) as delivery on true;

  with made as materialized (
    select job.*, given.*
    from rows from (
      jsonb_to_recordset(items) as (
        job_id bigint, after_ms double precision, round integer, attempt integer, status_code integer, response text,
        error_message text, duration_ms integer, sent_at timestamptz, status_after text, next_attempt_at timestamptz
      )
    ) with ordinality as given (
      job_id, after_ms, round, attempt, status_code, response, error_message, duration_ms, sent_at, status_after,
      next_attempt_at, ord
    )
    cross join lateral (
      select job.company_id, job.lane::bigint as registration_id, job.subject_id as delivery_id
      from jobs job
      where job.id = given.job_id and given.job_id = any (held)
      limit 1
    ) as job
  ),
  ended as (
    delete from jobs job
    where job.id = any (array(select made.job_id from made where made.after_ms is null))
  ),
  again as (
    update jobs job
    set
      due_at = clock_timestamp() + (select made.after_ms from made where made.job_id = job.id) * interval '1 ms',
      claim_id = null,
      lease_until = null,
      lapses = 0
    where job.id = any (array(select made.job_id from made where made.after_ms is not null))
  ),
  logged as (
    insert into delivery_attempts (
      company_id, delivery_id, registration_id, round, attempt, status_code, response, error_message, duration_ms,
      dead_lettered, sent_at
    )
    select
      company_id, delivery_id, registration_id, round, attempt, status_code, response, error_message, duration_ms,
      status_after = 'dead', sent_at
    from made
    order by ord
    on conflict on constraint delivery_attempts_once do nothing
  )
  update deliveries delivery
  set
    attempts = delivery.attempts + 1,
    (status, next_attempt_at) = (
      select made.status_after, made.next_attempt_at from made where made.delivery_id = delivery.id limit 1
    ),
    updated_at = now()
  where delivery.ctid = any (places);
end
$$;

-- Puts envelopes up for every active registration of their company that subscribes to the event, with a job for each
-- new delivery; see insertDeliveries in src/webhooks/delivery-store.ts. One round trip of the transaction that writes
-- the messages. Registrations are looked up by company one by one; the rest joins what is in hand.
create function put_up_deliveries(
  job_kind text,
  company_ids bigint[],
  wamids text[],
  events text[],
  message_ids bigint[],
  bodies text[]
)
returns table (company_id bigint, delivery_id bigint, registration_id bigint)
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
begin
  return query
  with given as materialized (
    select distinct on (company_id, wamid) *
    from unnest(company_ids, wamids, events, message_ids, bodies) with ordinality
      as given (company_id, wamid, event, message_id, body, ord)
    order by company_id, wamid, ord
  ),
  wanted as materialized (
    select given.*, receivers.ids
    from given
    cross join lateral (
      select array_agg(registration.id order by registration.id) as ids
      from registrations registration
      where registration.company_id = given.company_id
        and given.event = any (registration.events)
        and registration.status = 'active'
        and registration.deleted_at is null
    ) as receivers
    where receivers.ids is not null
  ),
  stored as (
    insert into envelopes (company_id, wamid, event, message_id, body)
    select wanted.company_id, wanted.wamid, wanted.event, wanted.message_id, wanted.body
    from wanted
    order by wanted.company_id, wanted.wamid -- one order of locks for all who write at once
    on conflict (company_id, wamid) do nothing
    returning envelopes.company_id, envelopes.wamid
  ),
  made as (
    insert into deliveries (company_id, registration_id, wamid)
    select wanted.company_id, one.registration_id, wanted.wamid
    from wanted
    join stored on (stored.company_id, stored.wamid) = (wanted.company_id, wanted.wamid)
    cross join lateral unnest(wanted.ids) as one (registration_id)
    order by wanted.ord, one.registration_id
    returning deliveries.company_id, deliveries.id as delivery_id, deliveries.registration_id
  ),
  enqueued as (
    insert into jobs (kind, lane, company_id, subject_id)
    select job_kind, made.registration_id::text, made.company_id, made.delivery_id
    from made
  )
  select made.company_id, made.delivery_id, made.registration_id from made;
end
$$;
