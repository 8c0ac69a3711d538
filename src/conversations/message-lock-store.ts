import type { Db } from '../db/connect.ts'
import { recordKeyOf } from '../platform/ids.ts'
import { isAmong } from './message-month.ts'

type MessageId = { companyId: number; id: number }

/**
 * Locks messages in key order and reads statuses. Must not join: PostgreSQL 18.4 crashes if a statement locks a
 * concurrently changed row, then looks up a partition by another row's value (docs/decisions/0016).
 */
export async function lockMessages(
  tx: Db,
  messages: readonly MessageId[],
): Promise<(MessageId & { status: string })[]> {
  const ids = messages.map(({ id }) => id)
  const locked = await tx<(MessageId & { status: string })[]>`
    select company_id, id, status
    from messages message
    where message.company_id = any(${messages.map(({ companyId }) => companyId)}::bigint[])
      and message.id = any(${ids}::bigint[])
      and ${isAmong(ids)}
    order by message.company_id, message.id
    for no key update
  `
  const keys = new Set(messages.map(recordKeyOf))
  return locked.filter((message) => keys.has(recordKeyOf(message)))
}
