import { type Db, sql } from '../../../db/connect.ts'
import type { DeadLetterRow, DeadLetterState, RequeuedItem } from './dead-letter-store.ts'

const LISTED_BYTES = 4 * 1024

/** Lists matching items, newest first, with the first 4 KiB from each body. */
export function listDeadLetters(
  db: Db,
  filter: RetryFilter,
  { before, limit }: { before: number | undefined; limit: number },
): Promise<DeadLetterRow[]> {
  return db<DeadLetterRow[]>`
    select item.*
    from unnest(${filter.states as DeadLetterState[]}::text[]) as requested (state)
    cross join lateral (
      select
        id, state, reason, phone_number_id, waba_account_id, app, received_at, created_at,
        substring(body for ${LISTED_BYTES}) as body, octet_length(body) as body_bytes
      from inbound_items item
      where item.state = requested.state and ${matches(filter)} and item.id < ${before ?? Number.MAX_SAFE_INTEGER}
      order by item.id desc
      limit ${limit}
    ) as item
    order by item.id desc
    limit ${limit}
  `
}

export type RetryFilter = {
  states: readonly DeadLetterState[]
  reason?: string | undefined
  phoneNumberId?: string | undefined
  wabaAccountId?: string | undefined
  app?: string | undefined
  /** Arrival time, from `since` to before `until`. */
  since?: Date | undefined
  until?: Date | undefined
}

/** `after` is exclusive, `last` inclusive. */
export type IdWindow = { after: number; last: number; limit: number }

const BYTES_AT_ONCE = 4 * 1024 * 1024

/** Returns the SQL condition for a filter. */
export const matches = ({ states, reason, phoneNumberId, wabaAccountId, app, since, until }: RetryFilter) => sql`(
  item.state = any(${states as DeadLetterState[]}::text[])
  and (${reason ?? null}::text is null or position(lower(${reason ?? ''}) in lower(item.reason)) > 0)
  and (${phoneNumberId ?? null}::text is null or item.phone_number_id = ${phoneNumberId ?? null})
  and (${wabaAccountId ?? null}::text is null or item.waba_account_id = ${wabaAccountId ?? null})
  and (${app ?? null}::text is null or item.app = ${app ?? null})
  and item.received_at >= ${since ?? new Date(0)} and (${until ?? null}::timestamptz is null or item.received_at < ${until ?? null})
)`

/** Returns the highest item id; items that fail again get higher ones. */
export async function lastItemId(db: Db): Promise<number> {
  const [row] = await db<[{ id: number }]>`select coalesce(max(id), 0) as id from inbound_items`
  return row.id
}

/** Removes and returns matching items, oldest first. Skips locked ones. */
export async function removeMatching(
  tx: Db,
  filter: RetryFilter,
  { after, last, limit }: IdWindow,
): Promise<(RequeuedItem & { id: number })[]> {
  const rows = await tx<(RequeuedItem & { id: number })[]>`
    with locked as materialized (
      select item.id, octet_length(item.body) as bytes
      from inbound_items item
      where ${matches(filter)} and item.id > ${after} and item.id <= ${last}
      order by item.id
      limit ${limit}
      for update skip locked
    ),
    sized as (
      select locked.id, sum(locked.bytes) over (order by locked.id) - locked.bytes as bytes_before from locked
    )
    delete from inbound_items item
    where item.id = any (array(select sized.id from sized where sized.bytes_before < ${BYTES_AT_ONCE}))
    returning item.id, item.body, item.received_at
  `
  return rows.toSorted((one, other) => one.id - other.id)
}

/** Lists matching items that a connected number, account or app wants by now, oldest first. */
export async function listWanted(db: Db, filter: RetryFilter, { after, last, limit }: IdWindow): Promise<number[]> {
  const rows = await db<{ id: number }[]>`
    with wanted as (
      select item.id, octet_length(item.body) as bytes
      from inbound_items item
      where ${matches(filter)} and item.id > ${after} and item.id <= ${last}
        and (
          exists (select from sender_routes route where route.phone_number_id = item.phone_number_id)
          or (
            item.phone_number_id is null
            and exists (
              select from senders sender where sender.waba_account_id = item.waba_account_id and sender.deleted_at is null
            )
          )
          or exists (
            select from senders sender
            where (sender.app_id = item.app or sender.app_name = item.app) and sender.deleted_at is null
          )
        )
      order by item.id
      limit ${limit}
    )
    select sized.id
    from (select wanted.id, sum(wanted.bytes) over (order by wanted.id) - wanted.bytes as bytes_before from wanted) as sized
    where sized.bytes_before < ${BYTES_AT_ONCE}
    order by sized.id
  `
  return rows.map(({ id }) => id)
}
