import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ResourceLimits, Worker } from 'node:worker_threads'
import { createBatcher } from '../fair-line.ts'
import type { TaskAnswer, TaskCall, Tasks } from './task-program.ts'

const CHECK_MS = 50
const RESTS_ALIKE_MS = 10
const LONGEST_REST_MS = 1_500
/** Processor time of a thread start, charged to the task that ended the previous thread. */
const START_MS = 150

/** Returns milliseconds, growing with the square of the processor time: short tasks run almost back to back. */
export const restAfter = (tookMs: number): number => Math.min((tookMs / RESTS_ALIKE_MS) * tookMs, LONGEST_REST_MS)

type Name<All extends Tasks> = keyof All & string
type Input<Task> = Task extends (input: infer Input) => unknown ? Input : never
type Result<Task> = Task extends (input: never) => infer Result ? Awaited<Result> : never

type TaskThreadOptions<All extends Tasks> = {
  program: URL
  /** Processor time per task. A task over the limit is ended with its thread. */
  limitsMs: Readonly<Record<Name<All>, number>>
  memory: ResourceLimits
  /** Maximum waiting tasks, a third of them for one lane, and their maximum wait; beyond either, 503. */
  maxWaiting?: number
  maxWaitMs?: number
  restMs?: (tookMs: number) => number
}

/** `too-slow`: over a limit. `moved` memory must be part of the result. Throws 503 when too many tasks wait. */
export type RunTask<All extends Tasks> = <Task extends Name<All>>(
  lane: number,
  name: Task,
  input: Input<All[Task]>,
  moved?: readonly ArrayBuffer[],
) => Promise<Result<All[Task]> | 'too-slow'>

type Outcome = TaskAnswer | 'too-slow'
type Performed = { outcome: Outcome; usedMs: () => Promise<number> }
type Waiting = TaskCall & { lane: number; limitMs: number; onOutcome: (outcome: Outcome) => void }

/** Runs one task at a time, lanes in rotation, resting longer after longer tasks. */
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
    // Must not keep a stopping process alive.
    started.unref()
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
      // The thread hit its memory limit.
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

/** Processor time, since tasks take longer by the clock on a busy machine. */
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

async function usedSince(running: Worker, before: NodeJS.CpuUsage): Promise<number> {
  const { user, system } = await running.cpuUsage(before)
  return (user + system) / 1_000
}
