import cluster from 'node:cluster'
import { StartError } from '../../platform/start-error.ts'
import type { Shared } from '../prepare.ts'
import type { FromWorker, Snapshot, ToWorker } from './worker-messages.ts'

export type WorkerEnd = { code: number | null; signal: string | null }

/** A worker, as the supervisor sees it. */
export type WorkerHandle = {
  id: number
  pid: number | undefined
  /** Where it answers, once it does; rejects with a StartError when it ends before. */
  ready: Promise<string>
  ended: Promise<WorkerEnd>
  /** Resolves when its share of the listener is closed and its requests are answered, or it ended. */
  drained: Promise<void>
  /** Asks it to stop in order; with `waits` it goes on accepting connections until `disconnect`. */
  stop(waits: boolean): void
  /** Closes the supervisor's share of the listener, if no other worker has one, then lets the worker close its own. */
  disconnect(): void
  kill(): void
  /** Makes it write its log. */
  greeted(): void
  /** Asks for its metrics. */
  collect(): void
}

type Listener = {
  collected(workerId: number, snapshot: Snapshot): void
  /** Reads the metrics of all workers. */
  readMetrics(): Promise<string>
}

/**
 * The workers accept from one listener. A supervisor that accepted for them would pass connections to a worker that was
 * killed a moment ago: their clients would wait for ever.
 */
cluster.schedulingPolicy = cluster.SCHED_NONE

/** Starts a process that serves what `shared` names, and answers its messages. */
export function forkWorker(shared: Shared, listener: Listener): WorkerHandle {
  const worker = cluster.fork()
  const ready = Promise.withResolvers<string>()
  const ended = Promise.withResolvers<WorkerEnd>()
  const drained = Promise.withResolvers<void>()
  let isGreeted = false
  // The end of a worker that was ready is reported by `ended` alone.
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
