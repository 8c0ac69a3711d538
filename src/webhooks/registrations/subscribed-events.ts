import type { Db } from '../../db/connect.ts'
import { listSubscribedEvents } from './registration-store.ts'

/** The age that registrations of another process can have here. */
const REFRESH_MS = 1_000

export type SubscribedEvents = {
  /** Whether an active registration of the company names the event, by what was read last. */
  has(companyId: number, event: string): boolean
  /** The number of active registrations of the company that name the event, by what was read last. */
  receivers(companyId: number, event: string): number
  /** Reads again which events are subscribed to, with every change that was committed before. */
  refresh(): Promise<void>
  /** Reads at once and then every second, until the result is called. */
  start(): () => void
}

/**
 * The events other than messages that companies subscribe to, in memory: without a subscription, a write runs no statement
 * for events. A registration of this process counts at once, one of another process within a second.
 */
export function createSubscribedEvents(db: Db, onFailure: (error: unknown) => void): SubscribedEvents {
  let subscribed = new Map<number, ReadonlyMap<string, number>>()
  let last: Promise<void> = Promise.resolve()
  const read = async () => {
    const rows = Map.groupBy(await listSubscribedEvents(db), ({ companyId }) => companyId)
    subscribed = new Map(
      [...rows].map(([companyId, own]) => [companyId, new Map(own.map(({ event, receivers }) => [event, receivers]))]),
    )
  }
  // One after the other: an older answer never replaces a newer one.
  const refresh = () => {
    last = last.then(read).catch(onFailure)
    return last
  }
  return {
    has: (companyId, event) => subscribed.get(companyId)?.has(event) ?? false,
    receivers: (companyId, event) => subscribed.get(companyId)?.get(event) ?? 0,
    refresh,
    start: () => {
      void refresh()
      const timer = setInterval(() => void refresh(), REFRESH_MS)
      return () => clearInterval(timer)
    },
  }
}
