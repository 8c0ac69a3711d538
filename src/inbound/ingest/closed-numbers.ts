import type { Db } from '../../db/connect.ts'
import { monotonicMs } from '../../platform/clock.ts'
import type { EventReader } from '../../providers/events/event-reader.ts'
import { findClosedIds } from './closed-number-store.ts'

const TTL_MS = 3_000

/**
 * Whether a body names a number, account or app of a company that is being moved. Its provider repeats a body that is
 * refused, and by then the company is open here or elsewhere. Other processes see a change within 3 s.
 */
export function createClosedCheck(
  db: Db,
  events: Pick<EventReader, 'idsOf'>,
): (body: Buffer) => boolean | Promise<boolean> {
  let closed: ReadonlySet<string> = new Set()
  let untilMs = 0
  let reading: Promise<void> | undefined
  const read = async (): Promise<void> => {
    const startedAtMs = monotonicMs()
    closed = new Set(await findClosedIds(db))
    untilMs = startedAtMs + TTL_MS
  }
  const names = (body: Buffer): boolean => {
    if (closed.size === 0) return false
    for (const id of events.idsOf(body) ?? []) if (closed.has(id)) return true
    return false
  }
  return (body) => {
    if (monotonicMs() < untilMs) return names(body)
    reading ??= read().finally(() => {
      reading = undefined
    })
    return reading.then(() => names(body))
  }
}
