import type { Db } from '../../db/connect.ts'
import { listSubscribedEvents } from './registration-store.ts'

const REFRESH_MS = 1_000

export type SubscribedEvents = {
  has(companyId: number, event: string): boolean
  receivers(companyId: number, event: string): number
  /** Includes every change committed before the call. */
  refresh(): Promise<void>
  start(): () => void
}

/** Caches subscriptions: a write without subscribers runs no event statement. Other processes' changes take up to a second. */
export function createSubscribedEvents(db: Db, onFailure: (error: unknown) => void): SubscribedEvents {
  let subscribed = new Map<number, ReadonlyMap<string, number>>()
  let last: Promise<void> = Promise.resolve()
  const read = async () => {
    const rows = Map.groupBy(await listSubscribedEvents(db), ({ companyId }) => companyId)
    subscribed = new Map(
      [...rows].map(([companyId, own]) => [companyId, new Map(own.map(({ event, receivers }) => [event, receivers]))]),
    )
  }
  // An older result must not replace a newer one.
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
