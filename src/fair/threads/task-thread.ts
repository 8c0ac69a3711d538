import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ResourceLimits, Worker } from 'node:worker_threads'
import { createBatcher } from '../batch.ts'
import type { TaskAnswer, TaskCall, Tasks } from './task-program.ts'

const CHECK_MS = 50
/** After a task of so long, a thread rests as long as it took. */
const RESTS_ALIKE_MS = 10
const LONGEST_REST_MS = 1_500
/** Processor time of the start of a thread, which counts for the task that ended the one before. */
const START_MS = 150

/**
 * Milliseconds for which a thread rests after a task of so many milliseconds of processor time: the processors are others' meanwhile.
 * The rest grows with the square of the time, so that short tasks follow each other almost at once.
 */
export const restAfter = (tookMs: number): number => Math.min((tookMs / RESTS_ALIKE_MS) * tookMs, LONGEST_REST_MS)

type Name<All extends Tasks> = keyof All & string
type Input<Task> = Task extends (input: infer Input) => unknown ? Input : never
type Result<Task> = Task extends (input: never) => infer Result ? Awaited<Result> : never

type TaskThreadOptions<All extends Tasks> = {
  /** Calls `performTasks`. */
  program: URL
  /** Processor time of one task. A task that needs more is ended, with its thread. */
  limitsMs: Readonly<Record<Name<All>, number>>
  memory: ResourceLimits
  /** Tasks that wait at most, a third of them of one lane, and for how long; after it, 503. Absent: without limit. */
  maxWaiting?: number
  maxWaitMs?: number
  /** How long the thread rests after a task of so many milliseconds of processor time. Absent: `restAfter`. */
  restMs?: (tookMs: number) => number
}

/**
 * Runs a task in the thread, so that it holds up no request. `too-slow`: it took more processor time or memory than its
 * limit. Memory of `moved` goes to the thread without a copy, and back with the result, of which it has to be a part: the
 * caller uses that. It is lost with a thread that ends.
 *
 * @throws {AppError} 503 when too many tasks wait
 */
export type RunTask<All extends Tasks> = <Task extends Name<All>>(
  lane: number,
  name: Task,
  input: Input<All[Task]>,
  moved?: readonly ArrayBuffer[],
) => Promise<Result<All[Task]> | 'too-slow'>

type Outcome = TaskAnswer | 'too-slow'
type Performed = { outcome: Outcome; usedMs: () => Promise<number> }
type Waiting = TaskCall & { lane: number; limitMs: number; onOutcome: (outcome: Outcome) => void }

/**
 * A thread of this process that starts with its first task: one task at a time, of each lane in rotation. It rests after each: the
 * longer the task, the longer.
 */
export function createTaskThread<All extends Tasks>({
  program,
  limitsMs,
  memory,
  restMs = restAfter,
  ...limits
}: TaskThreadOptions<All>): RunTask<All> {
  let thread: Promise<Worker> | undefined

  const start = async (): Promise<Worker> => {
    const started = new Worker(program, { resourceLimits: memory })
    await once(started, 'message')
    // It never keeps a process that has stopped.
    started.unref()
    // An error also rejects the task that waits for it.
    started.on('error', () => {})
    return started
  }

  const perform = async ({ limitMs, ...posted }: TaskCall & { limitMs: number }): Promise<Performed> => {
    thread ??= start().catch((error) => {
      thread = undefined
      throw error
    })
    const running = await thread
    const ended = new AbortController()
    try {
      const before = await running.cpuUsage()
      const answer = once(running, 'message', { signal: ended.signal })
      running.postMessage(posted, posted.moved)
      const [first] = await Promise.race([answer, untilSpent(running, before, limitMs, ended.signal)])
      if (first !== SPENT) return { outcome: first, usedMs: () => usedSince(running, before) }
    } catch {
      // The thread has ended, by its limit of memory.
    } finally {
      ended.abort()
    }
    thread = undefined
    await running.terminate()
    return { outcome: 'too-slow', usedMs: async () => limitMs + START_MS }
  }
  const enqueue = createBatcher<Waiting, void>({
    run: async ([task]) => {
      if (task === undefined) return []
      const { lane: _lane, onOutcome, ...call } = task
      const { outcome, usedMs } = await perform(call)
      onOutcome(outcome)
      await sleep(restMs(await usedMs()), undefined, { ref: false })
      return [undefined]
    },
    maxItems: 1,
    maxRunning: 1,
    companyOf: ({ lane }) => lane,
    ...limits,
  })
  async function run<Task extends Name<All>>(
    lane: number,
    name: Task,
    input: Input<All[Task]>,
    moved?: readonly ArrayBuffer[],
  ): Promise<Result<All[Task]> | 'too-slow'>
  async function run(
    lane: number,
    name: Name<All>,
    input: unknown,
    moved: readonly ArrayBuffer[] = [],
  ): Promise<unknown> {
    const outcome = await new Promise<Outcome>((resolve, reject) => {
      enqueue({ lane, name, input, moved, limitMs: limitsMs[name], onOutcome: resolve }).catch(reject)
    })
    if (outcome === 'too-slow') return outcome
    if ('error' in outcome) throw new Error(outcome.error)
    return outcome.result
  }
  return run
}

const SPENT = Symbol('spent')

/** Counted in processor time: on a busy machine, a task may take longer by the clock. */
async function untilSpent(
  running: Worker,
  before: NodeJS.CpuUsage,
  limitMs: number,
  signal: AbortSignal,
): Promise<[typeof SPENT]> {
  for (;;) {
    await sleep(CHECK_MS, undefined, { signal, ref: false })
    if ((await usedSince(running, before)) >= limitMs) return [SPENT]
  }
}

/** Milliseconds of processor time of a thread. */
async function usedSince(running: Worker, before: NodeJS.CpuUsage): Promise<number> {
  const { user, system } = await running.cpuUsage(before)
  return (user + system) / 1_000
}
