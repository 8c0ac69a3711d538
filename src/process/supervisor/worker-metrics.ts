import { AggregatorRegistry } from 'prom-client'
import type { Snapshot } from './worker-handle.ts'

/** A late worker counts with its last answer. */
const COLLECT_DEADLINE_MS = 1_000

type WorkerMetrics = {
  /** Includes the counters of ended workers, so no sum ever falls. Calls must not overlap. */
  read(workers: readonly MeasuredWorker[]): Promise<string>
  collected(workerId: number, snapshot: Snapshot): void
  ended(workerId: number): Promise<void>
}

type MeasuredWorker = { id: number; collect(): void }

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
