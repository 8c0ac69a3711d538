import type { Db } from '../../db/connect.ts'
import type { Job } from '../job.ts'
import type { NarrowBounds } from '../job-kind.ts'
import { JOBS, type JobTable, type PartitionRange } from '../job-table.ts'
import { claimStatement, hasWaiting, LOCK_CLAIMS } from './claim-statement.ts'

export type ClaimRequest = {
  kind: string
  table?: JobTable
  partitions?: PartitionRange
  batches: number
  batchSize: number
  /** Over all processes. */
  laneCap: number
  companyCap: number
  afterLane: string
  leaseMs: number
  /** Lanes under the lane cap; all others are `narrow`. Absent: all lanes. */
  wideLanes?: readonly string[] | undefined
  narrow?: NarrowBounds | undefined
  laneRooms?: ReadonlyMap<string, number> | undefined
}

export type Claimed = {
  /** Ordered by due time; jobs of one batch share a claim id. */
  jobs: Job[]
  lastLane: string
  /** False if the walk stopped early, so more may be due. */
  sawAll: boolean
  /** Whether due work was skipped because of a cap or the batch limit. */
  sawFull: boolean
  nextDueInMs: number | undefined
}

type ClaimRow = Omit<Job, 'id' | 'kind' | 'companyId'> & {
  id: number | null
  companyId: number | null
  sawAll: boolean | null
  sawFull: boolean | null
  nextDueInMs: number | null
}

const NOTHING: Claimed = { jobs: [], lastLane: '', sawAll: true, sawFull: false, nextDueInMs: undefined }

/** Leases due jobs in lane rotation within the caps, in one short transaction. */
export async function claimJobs(db: Db, request: ClaimRequest): Promise<Claimed> {
  const { kind, table = JOBS, partitions = await table.openPartitions(db) } = request
  const place = [kind, partitions.first, partitions.last]
  const [found] = await db.unsafe<[{ hasWaiting: boolean }]>(hasWaiting(table), place, { prepare: true })
  if (!found.hasWaiting) return NOTHING
  const claim = async (tx: Db) => {
    const [, rows] = await Promise.all([
      tx.unsafe(LOCK_CLAIMS, [kind], { prepare: true }),
      tx.unsafe<ClaimRow[]>(claimStatement(table), toParameters(request, partitions), { prepare: true }),
    ])
    return { rows }
  }
  const claimed = 'begin' in db ? await db.begin(claim) : await claim(db)
  const [report, ...rows] = claimed.rows
  return {
    jobs: rows.flatMap((row) => toJob(kind, row)),
    lastLane: report?.lane ?? '',
    sawAll: report?.sawAll ?? true,
    sawFull: report?.sawFull ?? false,
    nextDueInMs: report?.nextDueInMs ?? undefined,
  }
}

function toParameters(request: ClaimRequest, { first, last }: PartitionRange) {
  const { kind, batches, batchSize, laneCap, companyCap, afterLane, leaseMs, wideLanes, narrow, laneRooms } = request
  const wide = wideLanes ? [...wideLanes] : null
  const { batch = 1, jobsOfLane = 1, jobs = 1 } = narrow ?? {}
  const rooms = laneRooms && laneRooms.size > 0 ? JSON.stringify(Object.fromEntries(laneRooms)) : null
  const bounds = [batch, first, last, jobsOfLane, jobs, rooms]
  return [kind, batches, batchSize, laneCap, companyCap, afterLane, leaseMs, wide, ...bounds]
}

function toJob(kind: string, row: ClaimRow): Job[] {
  const { id, lane, companyId, subjectId, dueAt, attempts, claimId, createdAt } = row
  if (id === null) return []
  return [{ id, claimId, kind, lane, companyId: companyId ?? undefined, subjectId, dueAt, attempts, createdAt }]
}
