import type { Db } from '../../db/connect.ts'
import { monotonicMs } from '../../platform/clock.ts'
import type { EventReader } from '../../providers/events/event-reader.ts'

const TTL_MS = 3_000

/** Returns whether a body is for a company being moved; the provider must resend. Changes show within 3 s. */
export function createLockedCheck(
  db: Db,
  events: Pick<EventReader, 'idsOf'>,
): (body: Buffer) => boolean | Promise<boolean> {
  let locked: ReadonlySet<string> = new Set()
  let untilMs = 0
  let reading: Promise<void> | undefined
  const read = async (): Promise<void> => {
    const startedAtMs = monotonicMs()
    locked = new Set(await findLockedIds(db))
    untilMs = startedAtMs + TTL_MS
  }
  const names = (body: Buffer): boolean => {
    if (locked.size === 0) return false
    for (const id of events.idsOf(body) ?? []) if (locked.has(id)) return true
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

/** Returns up to 10,000 ids for locked companies' senders. */
export async function findLockedIds(db: Db): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select distinct named.id
    from companies company
    join senders sender on sender.company_id = company.id and sender.deleted_at is null
    cross join lateral unnest(array[sender.phone_number_id, sender.waba_account_id, sender.app_id, sender.app_name]) as named (id)
    where company.closed_at is not null and company.deleted_at is null and named.id is not null
    limit 10000
  `
  return rows.map(({ id }) => id)
}
