import type { Db } from '../../db/connect.ts'
import { listWantedEvents } from './registration-store.ts'

/** How old the knowledge of another process's registrations can be. */
const REFRESH_MS = 1_000

export type WantedEvents = {
  /** Whether an active registration of the company names the event, by what was read last. */
  has(companyId: number, event: string): boolean
  /** Reads again which events are subscribed to, with every change that was committed before. */
  refresh(): Promise<void>
  /** Reads now and then once a second, until the result is called. */
  start(): () => void
}

/**
 * Which companies want events beside messages, in memory: where none does, a write asks no statement and writes no event. A
 * registration of this process counts at once, one of another process within a second.
 */
export function createWantedEvents(db: Db, onFailure: (error: unknown) => void): WantedEvents {
  let requested = new Map<number, ReadonlySet<string>>()
  let last: Promise<void> = Promise.resolve()
  const read = async () => {
    const rows = await listWantedEvents(db)
    requested = new Map(rows.map(({ companyId, events }) => [companyId, new Set(events)]))
  }
  // One after the other: an older answer never replaces a newer one.
  const refresh = () => {
    last = last.then(read).catch(onFailure)
    return last
  }
  return {
    has: (companyId, event) => requested.get(companyId)?.has(event) ?? false,
    refresh,
    start: () => {
      void refresh()
      const timer = setInterval(() => void refresh(), REFRESH_MS)
      return () => clearInterval(timer)
    },
  }
}
