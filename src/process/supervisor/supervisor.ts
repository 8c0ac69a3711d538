import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { refreshed } from '../../platform/cache.ts'
import type { Config } from '../../platform/settings/config.ts'
import { StartError } from '../../platform/start-error.ts'
import { METRICS_SPACING_MS } from '../../platform/telemetry/metrics.ts'
import { createComponents, type Log } from '../components.ts'
import { prepare, type Shared } from '../prepare.ts'
import { DRAIN_DEADLINE_MS } from '../serve.ts'
import { type Running, startErrorOf } from '../start.ts'
import { forkWorker, type WorkerEnd, type WorkerHandle } from './worker-handle.ts'
import { createWorkerMetrics } from './worker-metrics.ts'

const FIRST_DELAY_MS = 100
const MAX_DELAY_MS = 10_000
export const MAX_RESTARTS_PER_MINUTE = 10
const MINUTE_MS = 60_000

const STOP_MARGIN_MS = 30_000
/** Longer than a worker waits for a moment without new connections, and than most requests take. */
const DRAIN_MARGIN_MS = 3_000
const RESTARTS_KEPT = 20

/** Starts `PROCESSES` workers on one listener and restarts those that end. Throws StartError with the remedy. */
export async function startSupervisor(config: Config, log: Logger, onStep: (title: string) => void): Promise<Running> {
  const components = createComponents(log)
  try {
    const { shared, adminTokenFile, sandbox, ended } = await prepare(config, log, components, onStep)
    onStep(`Starting ${config.processes} processes`)
    const workers = await components.add('workers', () => startWorkers(config, shared, log))
    const { address, exitCode, greeted } = workers
    await sandbox?.postTo(`${address}/public/v1/webhooks/whatsapp`)
    const { stop } = components
    return { address, adminTokenFile, sandboxUrl: sandbox?.url, stop, failed: ended, exitCode, greeted }
  } catch (error) {
    await components.stop()
    throw startErrorOf(error)
  }
}

type Workers = {
  address: string
  stop(): Promise<void>
  /** 0, or the code of a worker that did not stop in order. */
  exitCode(): number
  greeted(): void
}

async function startWorkers(config: Config, shared: Shared, log: Log): Promise<Workers> {
  const living = new Set<WorkerHandle>()
  const metrics = createWorkerMetrics()
  const readMetrics = refreshed(async () => metrics.read([...living]), METRICS_SPACING_MS)
  const planRestart = createRestarts(log)
  let isStopping = false
  let isGreeted = false
  let exitCode = 0

  const launch = (): WorkerHandle => {
    const worker = forkWorker(shared, {
      collected: metrics.collected,
      readMetrics: async () => readMetrics(),
    })
    living.add(worker)
    if (isGreeted) worker.greeted()
    void worker.ended.then((end) => {
      living.delete(worker)
      void metrics.ended(worker.id)
      if (isStopping) exitCode ||= end.code ?? 1
      else if (isServing) planRestart(worker, end, () => isStopping || launch())
    })
    return worker
  }
  const stop = async (): Promise<void> => {
    isStopping = true
    const deadlineMs = config.stopDelayMs + DRAIN_DEADLINE_MS + STOP_MARGIN_MS
    const late = setTimeout(() => living.forEach(({ kill }) => void kill()), deadlineMs)
    await closeInTurn([...living], config.stopDelayMs)
    await Promise.all([...living].map(({ ended }) => ended))
    clearTimeout(late)
  }
  let isServing = false
  try {
    // The first starts alone, so that a settings fault is reported once.
    const first = launch()
    const address = await first.ready
    const others = Promise.all(Array.from({ length: config.processes - 1 }, () => launch().ready))
    await Promise.race([others, first.ended.then(refuseStart)])
    isServing = true
    const greeted = (): void => {
      isGreeted = true
      for (const worker of living) worker.greeted()
    }
    return { address, stop, exitCode: () => exitCode, greeted }
  } catch (error) {
    await stop()
    throw error
  }
}

function refuseStart({ code, signal }: WorkerEnd): never {
  throw new StartError(`A worker ended while others were starting (${signal ?? `code ${code}`})`)
}

/**
 * Closing a listener resets unaccepted connections, and clients of a closed connection reconnect at once. So one worker
 * must keep accepting until all others are done, and close the last share while no connection waits.
 */
async function closeInTurn(workers: WorkerHandle[], stopDelayMs: number): Promise<void> {
  const [last, ...others] = workers
  last?.stop(true)
  for (const worker of others) worker.stop(false)
  const late = sleep(stopDelayMs + DRAIN_MARGIN_MS, undefined, { ref: false })
  await Promise.race([Promise.all(others.map(({ drained }) => drained)), late])
  last?.disconnect()
}

function createRestarts(log: Log) {
  const restartsAtMs: number[] = []
  return (worker: WorkerHandle, end: WorkerEnd, launch: () => unknown): void => {
    const nowMs = performance.now()
    const delayMs = Math.round(restartDelayMs(restartsAtMs, nowMs))
    restartsAtMs.push(nowMs + delayMs)
    if (restartsAtMs.length > RESTARTS_KEPT) restartsAtMs.shift()
    log.error({ worker: worker.pid, ...end, restartInMs: delayMs }, 'worker.ended')
    setTimeout(launch, delayMs)
  }
}

/**
 * Returns milliseconds: 100 ms, doubled per restart in the last minute, up to 10 s; after 10 restarts, until the first
 * is a minute old. `restartsAtMs` must be ascending.
 */
export function restartDelayMs(restartsAtMs: readonly number[], nowMs: number): number {
  const recent = restartsAtMs.filter((atMs) => atMs > nowMs - MINUTE_MS)
  const backoffMs = Math.min(FIRST_DELAY_MS * 2 ** recent.length, MAX_DELAY_MS)
  const oldestMs = recent.at(-MAX_RESTARTS_PER_MINUTE)
  return oldestMs === undefined ? backoffMs : Math.max(backoffMs, oldestMs + MINUTE_MS - nowMs)
}
