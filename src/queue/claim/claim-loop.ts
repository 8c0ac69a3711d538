import type { Db } from '../../db/connect.ts'
import { monotonicMs } from '../../platform/clock.ts'
import type { Job } from '../job.ts'
import { type JobKind, limitsOf, tableOf } from '../job-kind.ts'
import { withStatementTimeout } from '../statements/statement-timeout.ts'
import { type Claimed, claimJobs } from './claim-store.ts'

/** Between two claims of one kind: what ends or is enqueued meanwhile is taken in one. */
const SPACING_MS = 20
/** After a wake-up, wait at most twice as long as the last claim took (at most 20 ms): an idle database is soon polled again. */
const RESTS = 2
const FIRST_POLL_MS = 50
const LONGEST_POLL_MS = 250
const LONGEST_RETRY_MS = 1_000
/** Lanes that give work to one claim. */
const MOST_LANES = 100

export type ClaimLoop = {
  /** Looks for work at once. */
  wake(): void
  /** Says that a batch has ended: looks for work at once if some was left because all places were taken. */
  roomFreed(): void
  /** Fulfilled when nothing more will be claimed. */
  stop(): Promise<void>
}

type LoopDeps = {
  db: Db
  log: { warn(fields: object, message: string): void }
  leaseMs: number
  /** Called before each claim: jobs of dead workers must be back in their place. */
  recover(): Promise<void>
  /** Batches of this kind in flight in this process. */
  inFlight(): number
  /** Runs one claimed batch. Must not throw. */
  run(jobs: Job[], leasedAtMs: number): void
}

/** Claims jobs of one kind while there is room for them, polls when there are none, and outlives any failure. */
export function startClaimLoop(deps: LoopDeps, kind: JobKind): ClaimLoop {
  const { concurrency, laneCap } = limitsOf(kind)
  const pause = createPause()
  let stopped = false
  let afterLane = ''
  let pollMs = FIRST_POLL_MS
  let wantsRoom = false

  /** One look for work; returns how long to wait before the next unless woken. */
  const look = async (): Promise<number> => {
    const batches = concurrency - deps.inFlight()
    wantsRoom = batches <= 0
    if (wantsRoom) return LONGEST_POLL_MS
    const claimed = await claim(deps, kind, batches, afterLane)
    const { jobs, sawAll, lastLane } = claimed
    afterLane = lastLane
    // Each lane is at its cap: a wake-up or the end of a batch brings more.
    const tookAll = sawAll && batches >= MOST_LANES * laneCap
    wantsRoom = mayLeaveWork(kind, claimed)
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

/**
 * How long to wait before the next look, unless a wake-up comes. Jobs that fall due one after the other, such as retries at many
 * receivers, are taken together: a claim walks over all lanes, however few jobs it takes.
 */
export function waitAfter(
  { jobs, nextDueInMs = LONGEST_POLL_MS }: Pick<Claimed, 'jobs' | 'nextDueInMs'>,
  tookAll: boolean,
  pollMs: number,
): number {
  if (jobs.length > 0 && !tookAll) return SPACING_MS
  return Math.max(Math.min(pollMs, nextDueInMs + 1), FIRST_POLL_MS)
}

/**
 * Whether due work may be left that had no room. A lane may hold more only where a whole batch of it was taken: many lanes
 * that give a job each, such as retries at receivers that fail, are left to the next look, not to the end of each of them.
 */
export const mayLeaveWork = (
  { narrow, batch = 1 }: Pick<JobKind, 'narrow' | 'batch'>,
  { jobs, sawFull }: Pick<Claimed, 'jobs' | 'sawFull'>,
): boolean => sawFull || byClaim(jobs).some((one) => one.length >= (narrow?.batch ?? batch))

/** Claims batches of the lanes after one, and runs them. */
async function claim(deps: LoopDeps, kind: JobKind, batches: number, afterLane: string): Promise<Claimed> {
  await deps.recover()
  const startedAtMs = monotonicMs()
  const { laneCap, companyCap } = limitsOf(kind)
  const narrow = kind.narrow && {
    wideLanes: [...kind.narrow.wideLanes()],
    laneRooms: kind.narrow.laneRooms?.(),
    narrow: kind.narrow,
  }
  const caps = { batchSize: kind.batch ?? 1, laneCap, companyCap, leaseMs: deps.leaseMs, ...narrow }
  const claimed = await withStatementTimeout(
    claimJobs(deps.db, { kind: kind.kind, table: tableOf(kind), batches, afterLane, ...caps }),
  )
  for (const jobs of byClaim(claimed.jobs)) deps.run(jobs, startedAtMs)
  return claimed
}

/** Makes `look` safe to call: failures in a row wait longer each, and the first and the end of them are logged. */
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

/** Jobs in the batches that they were claimed in. */
export function byClaim(jobs: readonly Job[]): Job[][] {
  const batches = new Map<string, Job[]>()
  for (const job of jobs) {
    const batch = batches.get(job.claimId)
    if (batch) batch.push(job)
    else batches.set(job.claimId, [job])
  }
  return [...batches.values()]
}

/** A wait that can be cut short to `leastMs`; `end` counts also when it is called before the wait begins. */
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
