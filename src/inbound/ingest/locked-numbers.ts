import type { Db } from '../../db/connect.ts'
import { refreshed } from '../../platform/cache.ts'
import type { EventReader } from '../../providers/events/event-reader.ts'

const TTL_MS = 3_000

/** Returns whether a body is for a company being moved; the provider must resend. Changes show within 3 s. */
export function createLockedCheck(
  db: Db,
  events: Pick<EventReader, 'idsOf'>,
): (body: Buffer) => boolean | Promise<boolean> {
  const readLocked = refreshed(async (): Promise<ReadonlySet<string>> => new Set(await findLockedIds(db)), TTL_MS)
  const names = (locked: ReadonlySet<string>, body: Buffer): boolean => {
    if (locked.size === 0) return false
    for (const id of events.idsOf(body) ?? []) if (locked.has(id)) return true
    return false
  }
  return (body) => {
    const locked = readLocked()
    return locked instanceof Promise ? locked.then((ids) => names(ids, body)) : names(locked, body)
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
