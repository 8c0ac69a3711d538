import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { createBatcher } from '../../batching/batch.ts'
import { programFile } from '../../program-file.ts'
import type { MailTaskName, MailTasks } from './mail-tasks.ts'

/** Processor time of one task. A task that needs more is ended, with its worker. */
const LIMITS_MS: Record<MailTaskName, number> = {
  examine: 300,
  render: 300,
  track: 3_000,
  plainText: 3_000,
  report: 300,
}
const CHECK_MS = 50
const MEMORY = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 }
/** Tasks that wait, a third of them of one company; after it, 503. */
const MAX_WAITING = 2_000
const MAX_WAIT_MS = 10_000

type Input<Name extends MailTaskName> = Parameters<MailTasks[Name]>[0]
type Result<Name extends MailTaskName> = Awaited<ReturnType<MailTasks[Name]>>
type Task = { companyId: number; name: MailTaskName; input: unknown }
type Outcome = { result: unknown } | { error: string } | 'too-slow'

let worker: Promise<Worker> | undefined

/** One task at a time, of each company in rotation. */
const enqueue = createBatcher<Task, Outcome>({
  run: async ([task]) => (task === undefined ? [] : [await perform(task)]),
  maxItems: 1,
  maxRunning: 1,
  maxWaiting: MAX_WAITING,
  maxWaitMs: MAX_WAIT_MS,
  companyOf: ({ companyId }) => companyId,
})

/**
 * Runs a task on mails in a worker of this process, so that it holds up no request. `too-slow`: it took more processor
 * time or memory than its limit.
 *
 * @throws {AppError} 503 when too many tasks wait
 */
export async function runMailTask<Name extends MailTaskName>(
  companyId: number,
  name: Name,
  input: Input<Name>,
): Promise<Result<Name> | 'too-slow'>
export async function runMailTask(companyId: number, name: MailTaskName, input: unknown): Promise<unknown> {
  const outcome = await enqueue({ companyId, name, input })
  if (outcome === 'too-slow') return outcome
  if ('error' in outcome) throw new Error(outcome.error)
  return outcome.result
}

async function perform({ name, input }: Task): Promise<Outcome> {
  worker ??= start()
  const running = await worker
  const ended = new AbortController()
  try {
    const before = await running.cpuUsage()
    const answer = once(running, 'message', { signal: ended.signal })
    running.postMessage({ name, input })
    const [first] = await Promise.race([answer, untilSpent(running, before, LIMITS_MS[name], ended.signal)])
    if (first !== SPENT) return first
  } catch {
    // The worker has ended, by its limit of memory.
  } finally {
    ended.abort()
  }
  worker = undefined
  await running.terminate()
  return 'too-slow'
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
    const { user, system } = await running.cpuUsage(before)
    if ((user + system) / 1_000 >= limitMs) return [SPENT]
  }
}

async function start(): Promise<Worker> {
  const started = new Worker(programFile('src/emails/rendering/mail-program.ts'), { resourceLimits: MEMORY })
  await once(started, 'message')
  // It never keeps a process that has stopped.
  started.unref()
  // An error also rejects the task that waits for it.
  started.on('error', () => {})
  return started
}
