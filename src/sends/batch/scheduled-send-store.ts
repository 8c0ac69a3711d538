import { type Db, jsonRows } from '../../db/connect.ts'
import type { Send } from './decide-sends.ts'
import type { SendPlan } from './plan-sends.ts'

/** Locks scheduled messages; returns those still waiting, as `company id`. */
export async function lockScheduled(tx: Db, sends: readonly Send[]): Promise<Set<string>> {
  const rows = sends.flatMap(({ companyId, scheduledId }) =>
    scheduledId === null ? [] : [{ company_id: companyId, id: scheduledId }],
  )
  if (rows.length === 0) return new Set()
  const waiting = await tx<{ companyId: number; id: number }[]>`
    select scheduled.company_id, scheduled.id
    from jsonb_to_recordset(${jsonRows(tx, rows)}) as input (company_id bigint, id bigint)
    join scheduled_messages scheduled on (scheduled.company_id, scheduled.id) = (input.company_id, input.id)
    where scheduled.status = 'scheduled'
    order by scheduled.company_id, scheduled.id
    for update of scheduled
  `
  return new Set(waiting.map(({ companyId, id }) => `${companyId} ${id}`))
}

/** Records outcomes in the transaction that creates the messages, so that none is sent twice. */
export async function recordScheduled(tx: Db, messages: SendPlan['messages']): Promise<void> {
  const rows = messages.flatMap(({ send, id, conversationId }) =>
    send.scheduledId === null
      ? []
      : [{ company_id: send.companyId, id: send.scheduledId, message_id: id, conversation_id: conversationId }],
  )
  if (rows.length === 0) return
  await tx`
    update scheduled_messages scheduled
    set status = 'sent', message_id = input.message_id, conversation_id = input.conversation_id, ended_at = now()
    from jsonb_to_recordset(${jsonRows(tx, rows)}) as input (
      company_id bigint, id bigint, message_id bigint, conversation_id bigint
    )
    where (scheduled.company_id, scheduled.id) = (input.company_id, input.id)
  `
}

/** Reschedules sends that certainly didn't reach the customer, unless ended meanwhile. */
export async function returnScheduled(
  tx: Db,
  sends: readonly { companyId: number; messageId: number; scheduledId: number | null }[],
): Promise<void> {
  const rows = sends.map(({ companyId, scheduledId, messageId }) => ({
    company_id: companyId,
    id: scheduledId,
    message_id: messageId,
  }))
  await tx`
    update scheduled_messages scheduled
    set status = 'scheduled', message_id = null, ended_at = null
    from jsonb_to_recordset(${jsonRows(tx, rows)}) as input (company_id bigint, id bigint, message_id bigint)
    where (scheduled.company_id, scheduled.id, scheduled.message_id) = (input.company_id, input.id, input.message_id)
      and scheduled.body is not null
  `
}
