import type { Db } from '../../db/connect.ts'
import { inputRows } from '../../db/input-rows.ts'

type EnvelopeKey = { eventId: string; day: number }
export type FormerMessage = { id: number; wamid: string; envelope: string }

const EVENT = 'whatsapp.message.received'
/** The previous version's processes can write such messages until all are replaced. */
const MIGRATION = '0067_content_passes.sql'

/** Reads unrevoked earlier messages among `limit` envelopes after a key; `last` is undefined at the end. */
export async function readFormerMessages(
  db: Db,
  companyId: number,
  after: EnvelopeKey,
  limit: number,
): Promise<{ last: EnvelopeKey | undefined; messages: FormerMessage[] }> {
  const [last] = await db<EnvelopeKey[]>`
    select event_id, day
    from (
      select event_id, day
      from envelopes
      where company_id = ${companyId} and event = ${EVENT} and (event_id, day) > (${after.eventId}, ${after.day}::integer)
      order by event_id, day
      limit ${limit}
    ) as part
    order by event_id desc, day desc
    limit 1
  `
  if (last === undefined) return { last, messages: [] }
  const messages = await db<FormerMessage[]>`
    select message.id, message.wamid, envelope.body as envelope
    from envelopes envelope
    join messages message on message.company_id = ${companyId} and message.id = envelope.message_id
    where envelope.company_id = ${companyId} and envelope.event = ${EVENT}
      and (envelope.event_id, envelope.day) > (${after.eventId}, ${after.day}::integer)
      and (envelope.event_id, envelope.day) <= (${last.eventId}, ${last.day}::integer)
      and message.wamid = envelope.event_id
      and message.created_at < (select applied_at + interval '1 day' from migrations where name = ${MIGRATION})
      and message.kind is null and message.content is null and message.context is null and message.error is null
      and message.revoked_at is null
    order by message.id
  `
  return { last, messages }
}

export type StatedMessage = {
  id: number
  messageKind: string | null
  content: object | null
  context: object | null
  error: object | null
}

export async function writeStated(db: Db, companyId: number, messages: readonly StatedMessage[]): Promise<void> {
  const rows = messages.map(({ messageKind, ...message }) => ({ ...message, kind: messageKind }))
  await db`
    with input as materialized (
      select *
      from ${inputRows(rows, { bigint: ['id'], text: ['kind'], jsonb: ['content', 'context', 'error'] })}
    ),
    free as (
      select message.id, input.kind, input.content, input.context, input.error
      from messages message
      join input on input.id = message.id
      where message.company_id = ${companyId} and message.revoked_at is null
      order by message.id
      for no key update of message skip locked
    )
    update messages message
    set kind = free.kind, content = free.content, context = free.context, error = free.error
    from free
    where (message.company_id, message.id) = (${companyId}, free.id)
  `
}
