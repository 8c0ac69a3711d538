import { AggregatorRegistry } from 'prom-client'
import type { Snapshot } from './worker-messages.ts'

/** A worker that does not answer before the deadline counts with its last answer. */
const COLLECT_DEADLINE_MS = 1_000

type WorkerMetrics = {
  /**
   * The metrics of all workers: counters and histograms include those of ended workers, so that no sum ever falls. Must not be
   * called again before it has ended.
   */
  read(workers: readonly MeasuredWorker[]): Promise<string>
  /** Takes the answer of a worker. */
  collected(workerId: number, snapshot: Snapshot): void
  /** Keeps the counters of a worker that ended. */
  ended(workerId: number): Promise<void>
}

type MeasuredWorker = { id: number; collect(): void }

/** Adds up the metrics of several processes. Counters of processes that ended stay in the sum. */
export function createWorkerMetrics(): WorkerMetrics {
  const latest = new Map<number, Snapshot>()
  const waiting = new Map<number, PromiseWithResolvers<void>>()
  let past: Snapshot = []
  let ending: Promise<void> = Promise.resolve()

  const readAll = async (workers: readonly MeasuredWorker[]): Promise<string> => {
    for (const { id, collect } of workers) {
      waiting.set(id, Promise.withResolvers())
      collect()
    }
    const deadline = Promise.withResolvers<void>()
    const timer = setTimeout(deadline.resolve, COLLECT_DEADLINE_MS)
    await Promise.race([Promise.all([...waiting.values()].map(({ promise }) => promise)), deadline.promise])
    clearTimeout(timer)
    waiting.clear()
    return AggregatorRegistry.aggregate([...latest.values(), past]).metrics()
  }
  const keepCounters = async (workerId: number): Promise<void> => {
    waiting.get(workerId)?.resolve()
    const counters = (latest.get(workerId) ?? []).filter(({ type }) => ONLY_GROWING.has(String(type)))
    past = await AggregatorRegistry.aggregate([past, counters]).getMetricsAsJSON()
    latest.delete(workerId)
  }
  return {
    read: readAll,
    collected: (workerId, snapshot) => {
      latest.set(workerId, snapshot)
      waiting.get(workerId)?.resolve()
    },
    ended: (workerId) => {
      ending = ending.then(() => keepCounters(workerId))
      return ending
    },
  }
}

const ONLY_GROWING = new Set(['counter', 'histogram'])
