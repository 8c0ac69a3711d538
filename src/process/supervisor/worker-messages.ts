import type { MetricObjectWithValues, MetricValue } from 'prom-client'
import type { Shared } from '../prepare.ts'

/** The metrics of one process. */
export type Snapshot = MetricObjectWithValues<MetricValue<string>>[]

/** Messages of the supervisor to a worker. */
export type ToWorker =
  /** The answer to `hello`. */
  | { type: 'serve'; shared: Shared }
  /** The greeting is printed: the log may be written. */
  | { type: 'greeted' }
  /** Stop in order; with `waits` the listener stays open until the supervisor disconnects. */
  | { type: 'stop'; waits: boolean }
  /** Asks for the worker's own metrics. */
  | { type: 'collect' }
  /** The metrics of all workers, as text. */
  | { type: 'metrics'; id: number; text: string }

/** Messages of a worker to the supervisor. */
export type FromWorker =
  /** It listens to messages. */
  | { type: 'hello' }
  /** It answers requests. */
  | { type: 'ready'; address: string }
  /** Its share of the listener is closed and its requests are answered. */
  | { type: 'drained' }
  /** It can't start; the message says what to do. */
  | { type: 'failed'; message: string }
  | { type: 'collected'; snapshot: Snapshot }
  /** Asks for the metrics of all workers. */
  | { type: 'read metrics'; id: number }
