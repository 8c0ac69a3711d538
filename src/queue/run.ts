import { backoffMs } from './backoff.ts'
import { type Claim, isCausedByJob, type Job, type Outcome } from './job.ts'
import { type BatchKind, type JobKind, limitsOf } from './job-kind.ts'
import type { Rescheduling } from './job-store.ts'

export type BatchResult = { complete: Claim[]; reschedule: Rescheduling[]; release: Claim[] }

export type RunDeps = {
  log: { error(fields: object, message: string): void }
  random: () => number
  onThrow?: (kind: string, error: unknown) => void
}

/** Runs one batch and returns what to write. Never throws: a throwing handler's jobs are retried or discarded. */
export async function runBatch(deps: RunDeps, kind: JobKind, jobs: Job[], signal: AbortSignal): Promise<BatchResult> {
  if (kind.batch === undefined) {
    const runs = jobs.map((job) => runOne(deps, kind, job, signal, () => kind.handle(job, signal)))
    return join(await Promise.all(runs))
  }
  try {
    return toResult(kind, jobs, await kind.handle(jobs, signal))
  } catch (error) {
    if (jobs.length === 1 || signal.aborted) return join(jobs.map((job) => fail(deps, kind, job, signal, error)))
    return await runOneByOne(deps, kind, jobs, signal)
  }
}

/** Finds the bad job in a failed batch. Ordered jobs wait behind it. */
async function runOneByOne(deps: RunDeps, kind: BatchKind, jobs: Job[], signal: AbortSignal): Promise<BatchResult> {
  const results: BatchResult[] = []
  for (const [index, job] of jobs.entries()) {
    const result = await runOne(deps, kind, job, signal, async () => {
      const outcomes = await kind.handle([job], signal)
      return outcomeFor(outcomes, 0)
    })
    results.push(result)
    const held = result.reschedule.find((one) => one.hold && !one.fail)
    if (held) {
      const afterMs = held.afterMs ?? 0
      const behind = jobs
        .slice(index + 1)
        .map(({ id, claimId }) => ({ id, claimId, afterMs, counts: false, hold: true }))
      return join([...results, { complete: [], reschedule: behind, release: [] }])
    }
  }
  return join(results)
}

async function runOne(
  deps: RunDeps,
  kind: JobKind,
  job: Job,
  signal: AbortSignal,
  handle: () => Promise<Outcome>,
): Promise<BatchResult> {
  try {
    return toResult(kind, [job], await handle())
  } catch (error) {
    return fail(deps, kind, job, signal, error)
  }
}

function toResult(kind: JobKind, jobs: Job[], outcomes: Outcome | readonly Outcome[]): BatchResult {
  const result: BatchResult = { complete: [], reschedule: [], release: [] }
  for (const [index, { id, claimId }] of jobs.entries()) {
    const one = outcomeFor(outcomes, index)
    if (one.outcome === 'done') result.complete.push({ id, claimId })
    if (one.outcome === 'released') result.release.push({ id, claimId })
    if (one.outcome === 'retry') {
      const { outcome: _, ...retry } = one
      result.reschedule.push({ ...retry, id, claimId, hold: limitsOf(kind).ordered })
    }
  }
  return result
}

function outcomeFor(outcomes: Outcome | readonly Outcome[], index: number): Outcome {
  const outcome = 'outcome' in outcomes ? outcomes : outcomes[index]
  if (outcome === undefined) throw new Error('The handler returned fewer outcomes than it received jobs')
  return outcome
}

function fail(
  { log, random, onThrow }: RunDeps,
  kind: JobKind,
  job: Job,
  signal: AbortSignal,
  error: unknown,
): BatchResult {
  const { id, claimId, lane, companyId, subjectId } = job
  if (signal.aborted) return { complete: [], reschedule: [], release: [{ id, claimId }] }
  const { maxAttempts, backoff, ordered } = limitsOf(kind)
  const failures = job.attempts + 1
  const isLast = failures >= maxAttempts && isCausedByJob(error)
  onThrow?.(kind.kind, error)
  log.error({ kind: kind.kind, jobId: id, lane, companyId, subjectId, failures, isLast, err: error }, 'job.threw')
  const afterMs = backoffMs(backoff, failures, random())
  return {
    complete: [],
    reschedule: [{ id, claimId, afterMs, counts: true, error: String(error), hold: ordered, fail: isLast }],
    release: [],
  }
}

const join = (results: BatchResult[]): BatchResult => ({
  complete: results.flatMap(({ complete }) => complete),
  reschedule: results.flatMap(({ reschedule }) => reschedule),
  release: results.flatMap(({ release }) => release),
})
