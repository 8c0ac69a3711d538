import cluster from 'node:cluster'
import type { MetricObjectWithValues, MetricValue } from 'prom-client'
import { StartError } from '../../platform/start-error.ts'
import type { Shared } from '../prepare.ts'

export type WorkerEnd = { code: number | null; signal: string | null }

export type WorkerHandle = {
  id: number
  pid: number | undefined
  /** Rejects with a StartError if the worker ends first. */
  ready: Promise<string>
  ended: Promise<WorkerEnd>
  /** Resolves when the worker's listener share is closed and all requests are answered, or the worker ended. */
  drained: Promise<void>
  /** With `waits`, the worker accepts connections until `disconnect`. */
  stop(waits: boolean): void
  /** Closes the supervisor's share of the listener, then the last worker's. */
  disconnect(): void
  kill(): void
  greeted(): void
  collect(): void
}

type Listener = {
  collected(workerId: number, snapshot: Snapshot): void
  readMetrics(): Promise<string>
}

/** A supervisor would pass connections to a just killed worker, and clients would wait for ever. */
cluster.schedulingPolicy = cluster.SCHED_NONE

/** Starts a worker process and handles its messages. */
export function forkWorker(shared: Shared, listener: Listener): WorkerHandle {
  const worker = cluster.fork()
  const ready = Promise.withResolvers<string>()
  const ended = Promise.withResolvers<WorkerEnd>()
  const drained = Promise.withResolvers<void>()
  let isGreeted = false
  ready.promise.catch(() => {})
  const post = (message: ToWorker): void => {
    if (worker.isConnected()) worker.send(message, () => {})
  }
  worker.on('message', (message: FromWorker) => {
    if (message.type === 'hello') {
      post({ type: 'serve', shared })
      if (isGreeted) post({ type: 'greeted' })
    } else if (message.type === 'ready') ready.resolve(message.address)
    else if (message.type === 'drained') drained.resolve()
    else if (message.type === 'failed') ready.reject(new StartError(message.message))
    else if (message.type === 'collected') listener.collected(worker.id, message.snapshot)
    else void listener.readMetrics().then((text) => post({ type: 'metrics', id: message.id, text }))
  })
  worker.once('exit', (code: number | null, signal: string | null) => {
    ready.reject(new StartError(`A worker ended while it was starting (${signal ?? `code ${code}`})`))
    drained.resolve()
    ended.resolve({ code, signal })
  })
  return {
    id: worker.id,
    pid: worker.process.pid,
    ready: ready.promise,
    ended: ended.promise,
    drained: drained.promise,
    stop: (waits) => post({ type: 'stop', waits }),
    disconnect: () => worker.isConnected() && worker.process.disconnect(),
    kill: () => worker.process.kill('SIGKILL'),
    greeted: () => {
      isGreeted = true
      post({ type: 'greeted' })
    },
    collect: () => post({ type: 'collect' }),
  }
}

export type Snapshot = MetricObjectWithValues<MetricValue<string>>[]

export type ToWorker =
  | { type: 'serve'; shared: Shared }
  | { type: 'greeted' }
  /** With `waits` the listener stays open until the supervisor disconnects. */
  | { type: 'stop'; waits: boolean }
  | { type: 'collect' }
  | { type: 'metrics'; id: number; text: string }

export type FromWorker =
  | { type: 'hello' }
  | { type: 'ready'; address: string }
  | { type: 'drained' }
  | { type: 'failed'; message: string }
  | { type: 'collected'; snapshot: Snapshot }
  | { type: 'read metrics'; id: number }
