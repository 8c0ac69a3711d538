import { CLAIM_LOCK_SEED } from '../../db/advisory-locks.ts'
import { type Db, type Fragment, sql } from '../../db/connect.ts'
import type { Claimed, ClaimRoom, Job } from '../job.ts'
import { isLeasedBeyond, type JobTable } from '../job-table.ts'

/** Lanes that give work to one claim; and lanes visited, including full and idle ones. */
export const MOST_LANES = 100
const MOST_STEPS = 1_000

/** How to claim from a table. */
type ClaimStatement = {
  kind: string
  fullBatch: number
  table: Pick<JobTable, 'name' | 'order'>
  isWaiting: Fragment
  /** Table expression `in_flight`: one row, read by `laneBounds`, `isWithinCap` and `leased`. */
  inFlight: Fragment
  /** Selects `due_at` of the first job of lane `next`, its batch `size`, `room` for jobs, and whether it `counts_as_full`. */
  laneBounds: Fragment
  /** Selects `rank`, `id` and `due_at` of the due jobs of lane `walk.lane`. */
  dueJobs(limit: Fragment): Fragment
  /** Condition on a `batch`. */
  isWithinCap: Fragment
  /** Table expressions that end with `leased`: lock and lease `picked`. */
  leased: Fragment
}

type ClaimRow = Omit<Job, 'id' | 'kind' | 'companyId'> & {
  id: number | null
  companyId: number | null
  sawAll: boolean | null
  sawFull: boolean | null
  nextDueInMs: number | null
}

/**
 * Claims in lane rotation, in one short transaction. Claims of a kind run one after the other, so that each sees all earlier
 * ones and caps hold across processes. Does not wait for the disk: a claim lost in a server crash is just repeated.
 */
export async function runClaim(db: Db, room: ClaimRoom, statement: ClaimStatement): Promise<Claimed> {
  const { kind, fullBatch, table, isWaiting } = statement
  const [found] = await db<[{ isFound: boolean }]>`
    select (select true from ${table.name} job where ${isWaiting} order by ${table.order} limit 1) is not null as is_found
  `
  if (!found.isFound) {
    return { jobs: [], fullBatch, lastLane: '', sawAll: true, sawFull: false, nextDueInMs: undefined }
  }
  const claim = async (tx: Db) => {
    const lock = tx`
      select
        set_config('synchronous_commit', 'off', true),
        pg_advisory_xact_lock(hashtextextended(${kind}, ${CLAIM_LOCK_SEED}))::text
    `
    const [, rows] = await Promise.all([lock, tx<ClaimRow[]>`${claimStatement(room, statement)}`])
    return { rows }
  }
  const claimed = 'begin' in db ? await db.begin(claim) : await claim(db)
  const [report, ...rows] = claimed.rows
  return {
    jobs: rows.flatMap((row) => toJob(kind, row)),
    fullBatch,
    lastLane: report?.lane ?? '',
    sawAll: report?.sawAll ?? true,
    sawFull: report?.sawFull ?? false,
    nextDueInMs: report?.nextDueInMs ?? undefined,
  }
}

/** The first row has no id and reports the walk; the next claim continues after its lane. */
const claimStatement = (room: ClaimRoom, statement: ClaimStatement): Fragment => sql`
  with recursive moment as materialized (select clock_timestamp() as at),
  ${statement.inFlight},
  ${walkLanes(room, statement)},
  report as materialized (
    select
      (array_agg(walk.lane order by walk.step desc))[1] as last_lane,
      max(walk.usable) as lanes,
      max(walk.step) < ${MOST_STEPS}::integer and max(walk.usable) < ${mostLanes(room)} as saw_all,
      coalesce(bool_or(walk.is_full and walk.due_at <= (select at from moment)), false) as passed_full,
      min(walk.due_at) filter (where walk.due_at > (select at from moment)) as next_due_at
    from walk
  ),
  ${pickBatches(room, statement)},
  ${statement.leased}
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
`

const walkLanes = (room: ClaimRoom, { table, isWaiting, laneBounds }: ClaimStatement): Fragment => sql`
  walk as (
    select
      0 as step, ${room.afterLane}::text collate "C" as lane, null::bigint as company_id, null::timestamptz as due_at,
      0 as room, 0 as size, 0 as usable, false as is_full, false as wrapped
    union all
    select
      walk.step + 1, next.lane, next.company_id, bounds.due_at,
      free.room, bounds.size, walk.usable + (free.room > 0)::integer,
      bounds.counts_as_full and free.room = 0, next.wrapped
    from walk
    cross join lateral (
      (
        select job.lane, job.company_id, job.due_at, walk.wrapped
        from ${table.name} job
        where job.lane > walk.lane and ${isWaiting}
        order by ${table.order}
        limit 1
      )
      union all
      ( -- after the last lane comes the first
        select job.lane, job.company_id, job.due_at, true
        from ${table.name} job
        where not walk.wrapped and ${isWaiting}
        order by ${table.order}
        limit 1
      )
      limit 1
    ) as next
    cross join lateral (${laneBounds}) as bounds
    cross join lateral (
      select case when bounds.due_at > (select at from moment) then 0 else greatest(bounds.room, 0)::integer end as room
    ) as free
    where walk.usable < ${mostLanes(room)}
      and walk.step < ${MOST_STEPS}::integer
      and not (next.wrapped and next.lane > ${room.afterLane}::text)
  )`

const mostLanes = ({ batches }: ClaimRoom): Fragment => sql`least(${batches}::integer, ${MOST_LANES}::integer)`

const pickBatches = (room: ClaimRoom, { dueJobs, isWithinCap }: ClaimStatement): Fragment => sql`
  candidate as (
    select
      walk.step, walk.lane, walk.company_id, job.id,
      (row_number() over (partition by walk.lane order by job.rank, job.due_at, job.id) - 1) / walk.size as round
    from report
    join walk on walk.room > 0
    cross join lateral (${dueJobs(shareOfLane(room))}) as job
  ),
  batch as materialized (
    select
      candidate.step, candidate.lane, candidate.company_id, candidate.round,
      array_agg(candidate.id) as ids,
      row_number() over (partition by candidate.company_id order by candidate.round, candidate.step) as company_round
    from candidate
    group by candidate.step, candidate.lane, candidate.company_id, candidate.round
  ),
  picked as materialized (
    select
      batch.*, gen_random_uuid() as claim_id,
      exists (
        select from companies company where company.id = batch.company_id and company.deleted_at is not null
      ) as is_removed
    from batch
    where ${isWithinCap}
      -- jobs of a company that is being moved wait
      and not exists (
        select from companies company where company.id = batch.company_id and company.closed_at is not null
      )
    order by batch.round, batch.step
    limit ${room.batches}::integer
  )`

/** Twice a fair share: a long lane gets what short ones leave, while reads stay bounded. */
const shareOfLane = ({ batches }: ClaimRoom): Fragment => sql`
  least(
    walk.room,
    case when report.lanes >= ${batches}::integer then 1 else ceil(2.0 * ${batches}::integer / report.lanes) end * walk.size
  )`

/** Expired leases count until recoverJobs has requeued them: an ordered lane must not begin a second batch before. */
export const IS_IN_FLIGHT = isLeasedBeyond(sql`(select at - interval '5 s' from moment)`)

function toJob(kind: string, row: ClaimRow): Job[] {
  const { id, lane, companyId, subjectId, dueAt, attempts, claimId, createdAt } = row
  if (id === null) return []
  return [{ id, claimId, kind, lane, companyId: companyId ?? undefined, subjectId, dueAt, attempts, createdAt }]
}
