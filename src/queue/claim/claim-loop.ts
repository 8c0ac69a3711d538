import type { Db } from '../../db/connect.ts'
import { monotonicMs } from '../../platform/clock.ts'
import { type Claimed, type ClaimRoom, type Job, type JobKind, limitsOf } from '../job.ts'
import { withStatementTimeout } from '../job-store.ts'
import { claimJobs } from './claim-store.ts'
import { MOST_LANES } from './run-claim.ts'

const SPACING_MS = 20
const RESTS = 2
const FIRST_POLL_MS = 50
const LONGEST_POLL_MS = 250
const LONGEST_RETRY_MS = 1_000

type ClaimLoop = {
  wake(): void
  /** Must be called after each batch. */
  roomFreed(): void
  stop(): Promise<void>
}

type LoopDeps = {
  db: Db
  log: { warn(fields: object, message: string): void }
  leaseMs: number
  /** Called before each claim, to requeue jobs from dead workers. */
  recover(): Promise<void>
  inFlight(): number
  /** Must not throw. */
  run(jobs: Job[], leasedAtMs: number): void
}

/** Claims jobs of one kind while there is room, polls when there are none, and outlives any failure. */
export function startClaimLoop(deps: LoopDeps, kind: JobKind): ClaimLoop {
  const { concurrency, laneCap } = limitsOf(kind)
  const pause = createPause()
  let stopped = false
  let afterLane = ''
  let pollMs = FIRST_POLL_MS
  let wantsRoom = false

  const look = async (): Promise<number> => {
    const batches = concurrency - deps.inFlight()
    wantsRoom = batches <= 0
    if (wantsRoom) return LONGEST_POLL_MS
    const claimed = await claim(deps, kind, { batches, afterLane, leaseMs: deps.leaseMs })
    const { jobs, sawAll, lastLane } = claimed
    afterLane = lastLane
    const tookAll = sawAll && batches >= MOST_LANES * laneCap
    wantsRoom = mayLeaveWork(claimed)
    pollMs = jobs.length > 0 || !sawAll ? FIRST_POLL_MS : Math.min(pollMs * 1.5, LONGEST_POLL_MS)
    return waitAfter(claimed, tookAll, pollMs)
  }

  const lookSafely = withFailureBackoff(deps.log, kind.kind, look)

  const ended = (async () => {
    while (!stopped) {
      const startedAtMs = monotonicMs()
      const { waitMs, hasFailed } = await lookSafely()
      const restMs = Math.min(RESTS * (monotonicMs() - startedAtMs), SPACING_MS)
      if (!stopped) await pause.wait(waitMs, hasFailed ? waitMs : restMs)
    }
  })()

  return {
    wake: pause.end,
    roomFreed: () => {
      if (wantsRoom) pause.end()
    },
    stop: () => {
      stopped = true
      pause.end()
      return ended
    },
  }
}

/** Returns milliseconds. Jobs due shortly after each other are claimed together: a claim walks all lanes. */
export function waitAfter(
  { jobs, nextDueInMs = LONGEST_POLL_MS }: Pick<Claimed, 'jobs' | 'nextDueInMs'>,
  tookAll: boolean,
  pollMs: number,
): number {
  if (jobs.length > 0 && !tookAll) return SPACING_MS
  return Math.max(Math.min(pollMs, nextDueInMs + 1), FIRST_POLL_MS)
}

/** Returns whether due work may remain for lack of room: only where a lane gave a whole batch. */
export const mayLeaveWork = ({ jobs, sawFull, fullBatch }: Pick<Claimed, 'jobs' | 'sawFull' | 'fullBatch'>): boolean =>
  sawFull || byClaim(jobs).some((one) => one.length >= fullBatch)

async function claim(deps: LoopDeps, kind: JobKind, room: ClaimRoom): Promise<Claimed> {
  await deps.recover()
  const startedAtMs = monotonicMs()
  const { laneCap, companyCap } = limitsOf(kind)
  const claiming = kind.lanes
    ? kind.lanes.claim(deps.db, room)
    : claimJobs(deps.db, { kind: kind.kind, batchSize: kind.batch ?? 1, laneCap, companyCap, ...room })
  const claimed = await withStatementTimeout(claiming)
  for (const jobs of byClaim(claimed.jobs)) deps.run(jobs, startedAtMs)
  return claimed
}

/** Logs only the first failure in a row, and the recovery. */
function withFailureBackoff(log: LoopDeps['log'], kind: string, look: () => Promise<number>) {
  let failures = 0
  return async (): Promise<{ waitMs: number; hasFailed: boolean }> => {
    try {
      const waitMs = await look()
      if (failures > 0) log.warn({ kind, failures }, 'job.claims_resumed')
      failures = 0
      return { waitMs, hasFailed: false }
    } catch (error) {
      if (failures === 0) log.warn({ kind, err: error }, 'job.claim_failed')
      failures += 1
      return { waitMs: Math.min(FIRST_POLL_MS * 2 ** failures, LONGEST_RETRY_MS), hasFailed: true }
    }
  }
}

export function byClaim(jobs: readonly Job[]): Job[][] {
  const batches = new Map<string, Job[]>()
  for (const job of jobs) {
    const batch = batches.get(job.claimId)
    if (batch) batch.push(job)
    else batches.set(job.claimId, [job])
  }
  return [...batches.values()]
}

/** A wait that `wake` can cut to `leastMs`; `end` also works before the wait begins. */
function createPause() {
  let isEnded = false
  let endWait = () => {}
  return {
    async wait(mostMs: number, leastMs: number): Promise<void> {
      await new Promise<void>((done) => setTimeout(done, Math.min(leastMs, mostMs)))
      if (!isEnded && mostMs > leastMs) {
        await new Promise<void>((done) => {
          const timer = setTimeout(done, mostMs - leastMs)
          endWait = () => {
            clearTimeout(timer)
            done()
          }
        })
      }
      isEnded = false
    },
    end(): void {
      isEnded = true
      endWait()
    },
  }
}
