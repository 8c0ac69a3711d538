import type { Db } from '../../../db/connect.ts'
import type { DeadLetterRow, DeadLetterState } from './dead-letter-store.ts'
import { matches, type RetryFilter } from './retry-store.ts'

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
