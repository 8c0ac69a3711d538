import type { Db } from '../db/connect.ts'
import { createStatementBatcher } from '../db/statement-batcher.ts'
import {
  backoffMs,
  type Claim,
  isCausedByJob,
  type Job,
  type JobKind,
  limitsOf,
  type Outcome,
  type Retry,
} from './job.ts'
import { completeJobs, type Rescheduling, releaseJobs, rescheduleJobs, withStatementTimeout } from './job-store.ts'
import type { JobTable } from './job-table.ts'

export type RunResult = { complete: Claim[]; reschedule: Rescheduling[]; release: Claim[] }

export type RunDeps = {
  log: { error(fields: object, message: string): void }
  random: () => number
  onThrow: (kind: string, error: unknown) => void
}

type Ended = Outcome | (Retry & { fail: boolean })

/** Runs the jobs of a claim and returns what to write. Never throws: a throwing handler's jobs are retried or discarded. */
export async function runJobs(deps: RunDeps, kind: JobKind, jobs: Job[], signal: AbortSignal): Promise<RunResult> {
  const ended = await run(deps, kind, jobs, signal)
  const { ordered: hold } = limitsOf(kind)
  const result: RunResult = { complete: [], reschedule: [], release: [] }
  for (const [index, { id, claimId }] of jobs.entries()) {
    const one = ended[index]
    if (one?.outcome === 'done') result.complete.push({ id, claimId })
    if (one?.outcome === 'released') result.release.push({ id, claimId })
    if (one?.outcome === 'retry') {
      const { outcome: _, ...retry } = one
      result.reschedule.push({ ...retry, id, claimId, hold })
    }
  }
  return result
}

async function run(deps: RunDeps, kind: JobKind, jobs: Job[], signal: AbortSignal): Promise<readonly Ended[]> {
  if (kind.batch === undefined) {
    return Promise.all(
      jobs.map(async (job) => {
        try {
          return await kind.handle(job, signal)
        } catch (error) {
          return fail(deps, kind, job, signal, error)
        }
      }),
    )
  }
  try {
    const outcomes = await kind.handle(jobs, signal)
    if (outcomes.length !== jobs.length) throw new Error('The handler must return an outcome for each job')
    return outcomes
  } catch (error) {
    if (jobs.length === 1 || signal.aborted) return jobs.map((job) => fail(deps, kind, job, signal, error))
    // One by one, to find the bad job.
    const ended: Ended[] = []
    for (const job of jobs) ended.push(...(await run(deps, kind, [job], signal)))
    return ended
  }
}

function fail({ log, random, onThrow }: RunDeps, kind: JobKind, job: Job, signal: AbortSignal, error: unknown): Ended {
  if (signal.aborted) return { outcome: 'released' }
  const { id, lane, companyId, subjectId } = job
  const { maxAttempts, backoff } = limitsOf(kind)
  const failures = job.attempts + 1
  const isLast = failures >= maxAttempts && isCausedByJob(error)
  onThrow(kind.kind, error)
  log.error({ kind: kind.kind, jobId: id, lane, companyId, subjectId, failures, isLast, err: error }, 'job.threw')
  const afterMs = backoffMs(backoff, failures, random())
  return { outcome: 'retry', afterMs, counts: true, error: String(error), fail: isLast }
}

const MOST_WRITES = 1_000
const FIRST_RETRY_MS = 50
const LONGEST_RETRY_MS = 1_000

type OutcomeWriter = {
  /** Resolves once written, or after `giveUp`. Never rejects. */
  write(result: RunResult): Promise<void>
  /** Ends retries: unwritten outcomes are left to lease expiry. */
  giveUp(): void
}

type WriterDeps = { db: Db; log: { warn(fields: object, message: string): void } }

/** Writes the outcomes of many claims in one statement, retrying until the database accepts them. */
export function createOutcomeWriter({ db, log }: WriterDeps, table: JobTable): OutcomeWriter {
  let gaveUp = false

  const persist = async (write: () => Promise<unknown>): Promise<void> => {
    for (let waitMs = FIRST_RETRY_MS; !gaveUp; waitMs = Math.min(waitMs * 2, LONGEST_RETRY_MS)) {
      try {
        await withStatementTimeout(write())
        return
      } catch (error) {
        if (waitMs === FIRST_RETRY_MS) log.warn({ err: error }, 'job.write_failed')
        await new Promise((done) => setTimeout(done, waitMs))
      }
    }
  }
  const persistent = <Item>(write: (items: Item[]) => Promise<unknown>) =>
    createStatementBatcher<Item, void>({
      run: async (items) => {
        await persist(() => write(items))
        return items.map(() => undefined)
      },
      maxItems: MOST_WRITES,
      maxRunning: 1,
    })
  const complete = persistent<Claim>((claims) => completeJobs(db, claims, table))
  const reschedule = persistent<Rescheduling>((items) => rescheduleJobs(db, items, table))

  return {
    write: async (result) => {
      await Promise.all([
        ...result.complete.map((claim) => complete(claim)),
        ...result.reschedule.map((item) => reschedule(item)),
        result.release.length > 0 && persist(() => releaseJobs(db, result.release, table)),
      ])
    },
    giveUp: () => {
      gaveUp = true
    },
  }
}
