import type { MetricObjectWithValues, MetricValue } from 'prom-client'
import type { Shared } from '../prepare.ts'

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
