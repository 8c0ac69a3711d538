import { CLAIM_LOCK_SEED } from '../../db/advisory-locks.ts'
import { isLeased, isWaiting, type JobTable, NO_WORKER, perTable } from '../job-table.ts'

/**
 * Serializes claims of kind $1, so a later statement sees all earlier ones and the caps hold across processes. Does not
 * wait for the disk: a claim lost in a server crash is just repeated.
 */
export const LOCK_CLAIMS = `
  select
    set_config('synchronous_commit', 'off', true),
    pg_advisory_xact_lock(hashtextextended($1, ${CLAIM_LOCK_SEED}))::text
`

/** $1: kind; $2, $3: first and last partition. The order selects the index of waiting rows. */
export const hasWaiting = perTable(
  (table) => `
    select (
      select true
      from ${table.name} job
      where ${table.isOfKind('$1::text')} and ${isWaiting(table)} and ${table.isWithin('$2::integer', '$3::integer')}
      order by ${table.order}
      limit 1
    ) is not null as has_waiting
  `,
)

/** Lanes that give work to one claim; and lanes visited, including full and idle ones. */
const MOST_LANES = 100
const MOST_STEPS = 1_000

/**
 * Claims up to $2 batches of kind $1 after lane $6. A batch is the next $3 jobs of one lane. A lane can have $4 batches
 * in flight, a company $5. $7: lease in ms; $10, $11: first and last partition.
 *
 * With $8, every lane not listed there is narrow: claimed in batches of $9 jobs with at most $12 in flight; fewer while
 * all narrow lanes exceed $13 jobs, shared among companies, then lanes. $14 limits the jobs claimed from some narrow
 * lanes.
 *
 * The first row has no id and reports the walk; the next claim continues after its lane. Finishes due jobs of removed
 * companies; renewJobs handles those in flight.
 */
export const claimStatement = perTable(
  (table) => `
    with recursive moment as materialized (select clock_timestamp() as at),
    ${countInFlight(table)},
    ${walkLanes(table)},
    report as materialized (
      select
        (array_agg(walk.lane order by walk.step desc))[1] as last_lane,
        max(walk.usable) as lanes,
        max(walk.step) < ${MOST_STEPS} and max(walk.usable) < least($2::integer, ${MOST_LANES}) as saw_all,
        -- narrow lanes that are full are left to the next poll: a wake-up for each job that ends would cost a claim
        coalesce(bool_or(walk.is_wide and walk.due_at <= (select at from moment) and walk.room = 0), false) as passed_full,
        min(walk.due_at) filter (where walk.due_at > (select at from moment)) as next_due_at
      from walk
    ),
    ${formBatches(table)},
    ${pickBatches},
    ${leaseJobs(table)}
    select
      null::bigint as id,
      coalesce((select picked.lane from picked order by picked.round desc, picked.step desc limit 1), report.last_lane) as lane,
      null::bigint as company_id, null::bigint as subject_id, null::timestamptz as due_at, null::integer as attempts,
      null::uuid as claim_id, null::timestamptz as created_at,
      report.saw_all,
      report.passed_full or (select count(*) from batch) > (select count(*) from picked) as saw_full,
      least(ceil(extract(epoch from report.next_due_at - (select at from moment)) * 1000), 2147483647)::integer
        as next_due_in_ms
    from report
    union all
    (select leased.*, null::boolean, null::boolean, null::integer from leased order by leased.due_at, leased.id)
  `,
)

/** Expired leases count until recoverJobs has requeued them: an ordered lane must not begin a second batch before. */
const countInFlight = (table: JobTable): string => `
    in_flight as materialized (
      select
        jsonb_object_agg(counted.lane, counted.batches) filter (where counted.by_lane) as lanes,
        jsonb_object_agg(counted.lane, counted.jobs) filter (where counted.by_lane) as jobs,
        jsonb_object_agg(counted.company_id, counted.held_by_workers) filter (where not counted.by_lane) as companies,
        jsonb_object_agg(counted.company_id, counted.lanes) filter (where not counted.by_lane) as lanes_of_company,
        greatest(count(*) filter (where not counted.by_lane), 1) as company_count
      from (
        select
          job.lane,
          job.company_id,
          grouping(job.company_id) = 1 as by_lane,
          count(*) as jobs,
          count(distinct job.lane) as lanes,
          count(distinct job.claim_id) as batches,
          count(distinct job.claim_id) filter (where job.claim_id <> '${NO_WORKER}') as held_by_workers
        from ${table.name} job
        where ${table.isOfKind('$1::text')} and ${isWithin(table)}
          and ${isLeased('>', "(select at - interval '5 s' from moment)")}
        group by grouping sets ((job.lane), (job.company_id))
      ) as counted
      where counted.by_lane or counted.company_id is not null
    )`

const walkLanes = (table: JobTable): string => `
    walk as (
      select
        0 as step, $6::text collate "C" as lane, null::bigint as company_id, null::bigint as head, null::timestamptz as due_at,
        0 as room, 0 as size, 0 as usable, false as is_wide, false as wrapped
      union all
      select
        walk.step + 1, next.lane, next.company_id, next.id, head.due_at,
        free.room, bounds.size, walk.usable + (free.room > 0)::integer, bounds.is_wide, next.wrapped
      from walk
      cross join lateral (
        (
          select job.id, job.lane, job.company_id, job.due_at, walk.wrapped
          from ${table.name} job
          where ${table.isOfKind('$1::text')} and job.lane > walk.lane and ${isWaiting(table)} and ${isWithin(table)}
          order by ${table.order}
          limit 1
        )
        union all
        ( -- after the last lane comes the first
          select job.id, job.lane, job.company_id, job.due_at, true
          from ${table.name} job
          where ${table.isOfKind('$1::text')} and not walk.wrapped and ${isWaiting(table)} and ${isWithin(table)}
          order by ${table.order}
          limit 1
        )
        limit 1
      ) as next
      cross join lateral (select ${headOf(table)} as due_at) as head
      cross join lateral (
        select
          lane.is_wide,
          case when lane.is_wide then $3::integer else $9::integer end as size,
          case when lane.is_wide
            then ($4::integer - coalesce(((select lanes from in_flight) ->> next.lane)::integer, 0)) * $3::integer
            else least(
              (select ${SHARE} from in_flight) - coalesce(((select jobs from in_flight) ->> next.lane)::integer, 0),
              ($14::jsonb ->> next.lane)::integer
            )
          end as room
        from (select $8::text[] is null or next.lane = any ($8::text[]) as is_wide) as lane
      ) as bounds
      cross join lateral (
        select case
          when head.due_at > (select at from moment) then 0
          when coalesce(((select companies from in_flight) ->> next.company_id::text)::integer, 0) >= $5::integer then 0
          else greatest(bounds.room, 0)::integer
        end as room
      ) as free
      where walk.usable < least($2::integer, ${MOST_LANES})
        and walk.step < ${MOST_STEPS}
        and not (next.wrapped and next.lane > $6::text)
    )`

/** A narrow lane's share of its company's share of $13. */
const SHARE = `
  greatest(
    least(
      $12::integer,
      $13::integer / in_flight.company_count
        / greatest(coalesce((in_flight.lanes_of_company ->> next.company_id::text)::integer, 1), 1)
    ),
    1
  )`

const headOf = (table: JobTable): string => {
  const heads = table.ranks.map(
    (rank) => `(
      select job.due_at
      from ${table.name} job
      where ${table.isOfKind('$1::text')} and job.lane = next.lane and ${rank} and ${isWaiting(table)} and ${isWithin(table)}
      order by job.due_at, job.id
      limit 1
    )`,
  )
  return heads.length === 1 ? 'next.due_at' : `least(${heads.join(', ')})`
}

const formBatches = (table: JobTable): string => `
    candidate as (
      select
        walk.step, walk.lane, walk.company_id, job.id, job.due_at,
        (row_number() over (partition by walk.lane order by job.rank, job.due_at, job.id) - 1) / walk.size as round
      from report
      join walk on walk.room > 0
      cross join lateral (
        select ranked.rank, ranked.id, ranked.due_at
        from (${dueJobs(table)}) as ranked
        order by ranked.rank, ranked.due_at, ranked.id
        limit ${ROOM}
      ) as job
    ),
    batch as materialized (
      select
        candidate.step, candidate.lane, candidate.company_id, candidate.round,
        array_agg(candidate.id) as ids,
        row_number() over (partition by candidate.company_id order by candidate.round, candidate.step) as company_round
      from candidate
      group by candidate.step, candidate.lane, candidate.company_id, candidate.round
    )`

/** Twice a fair share: a long lane gets what short ones leave, while reads stay bounded. */
const ROOM = `
          least(
            walk.room,
            case when report.lanes >= $2::integer then 1 else ceil(2.0 * $2::integer / report.lanes) end * walk.size
          )`

/** The walk has already read each lane's head. */
const dueJobs = (table: JobTable): string => {
  const ranks = table.ranks.map((rank, place) => `(${dueOfRank(table, rank, place)})`)
  if (ranks.length > 1) return ranks.join(' union all ')
  return `
          select 0 as rank, walk.head as id, walk.due_at where ${ROOM} = 1
          union all
          (select * from (${ranks.join()}) as due where ${ROOM} > 1)`
}

const dueOfRank = (table: JobTable, rank: string, place: number): string => `
          select ${place} as rank, job.id, job.due_at
          from ${table.name} job
          where ${table.isOfKind('$1::text')} and job.lane = walk.lane and ${rank} and ${isWaiting(table)}
            and ${isWithin(table)} and job.due_at <= (select at from moment)
          order by job.due_at, job.id
          limit ${ROOM}`

const pickBatches = `
    picked as materialized (
      select
        batch.*, gen_random_uuid() as claim_id,
        exists (
          select from companies company where company.id = batch.company_id and company.deleted_at is not null
        ) as is_removed
      from batch
      where batch.company_id is null
        or batch.company_round
          <= $5::integer - coalesce(((select companies from in_flight) ->> batch.company_id::text)::integer, 0)
        -- jobs of a company that is being moved wait
        and not exists (
          select from companies company where company.id = batch.company_id and company.closed_at is not null
        )
      order by batch.round, batch.step
      limit $2::integer
    )`

/** Companies may share a job id, in different lanes. */
const leaseJobs = (table: JobTable): string => `
    locked as materialized (
      select job.id, job.lane, picked.claim_id, picked.is_removed
      from picked
      cross join lateral unnest(picked.ids) as one (id)
      cross join lateral (
        select job.id, job.lane
        from ${table.name} job
        where job.id = one.id and job.lane = picked.lane and ${isWithin(table)}
          and ${isStillWaiting(table)}
        for update of job skip locked
      ) as job
    ),
    removed as (
      ${table.finish}
      where job.id = any (array(select locked.id from locked where locked.is_removed)) and ${isWithin(table)}
        and job.lane = any (array(select locked.lane from locked where locked.is_removed))
    ),
    claim as materialized (
      select array_agg(locked.id) as ids, array_agg(locked.lane) as lanes, array_agg(locked.claim_id) as claim_ids
      from locked
      where not locked.is_removed
    ),
    leased as (
      update ${table.name} job
      set
        claim_id = (select claim.claim_ids[array_position(claim.ids, job.id)] from claim),
        lease_until = (select at from moment) + $7::integer * interval '1 ms'
      where job.id = any (array(select locked.id from locked where not locked.is_removed)) and ${isWithin(table)}
        and job.lane = (select claim.lanes[array_position(claim.ids, job.id)] from claim)
      returning
        job.id, job.lane, job.company_id, ${table.subject} as subject_id, job.due_at, job.${table.failures} as attempts,
        job.claim_id, job.created_at
    )`

/** Must differ from the predicate of the waiting index, which would be scanned by id from end to end. */
const isStillWaiting = (table: JobTable): string => `num_nulls(job.claim_id) = 1 and ${table.isOpen}`

const isWithin = (table: JobTable): string => table.isWithin('$10::integer', '$11::integer')
