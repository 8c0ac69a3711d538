import type { Db } from '../db/connect.ts'

/** An edit or a revoke of a message, by the customer or by the business in its phone app. */
export type MessageChange = {
  companyId: number
  senderId: number
  /** Of the message that it names. */
  direction: 'inbound' | 'outbound'
  /** Identities of the customer who makes the change; none when the business does. */
  writers: readonly string[]
  /** The same customer as the `senderName` of messages in groups shows it. */
  shownWriter: string | null
  wamid: string | null
  targetWamid: string | null
  kind: 'edit' | 'revoke'
  /** The new text of an edit; null leaves the text as it is. */
  text: string | null
  occurredAt: Date
}

/**
 * Keeps edits and revokes and applies them to the messages that they name (decisions: Identity); one whose message is not
 * there yet waits for it. Answers for each whether it is new. One that names no message, or has no wamid, changes nothing.
 */
export async function recordMessageChanges(tx: Db, changes: readonly MessageChange[], at: Date): Promise<boolean[]> {
  const naming = changes.filter((change) => change.wamid !== null && change.targetWamid !== null)
  if (naming.length === 0) return changes.map(() => true)
  const column = <T>(of: (change: MessageChange) => T): T[] => naming.map(of)
  const kept = await tx<{ companyId: number; wamid: string }[]>`
    insert into message_changes (
      company_id, wamid, sender_id, direction, writers, shown_writer, target_wamid, kind, text, occurred_at
    )
    select
      company_id, wamid, sender_id, direction, string_to_array(writers, ' '), shown_writer, target_wamid, kind, text,
      to_timestamp(occurred)
    from unnest(
      ${column(({ companyId }) => companyId)}::bigint[],
      ${column(({ wamid }) => wamid)}::text[],
      ${column(({ senderId }) => senderId)}::bigint[],
      ${column(({ direction }) => direction)}::text[],
      ${column(({ writers }) => writers.join(' '))}::text[],
      ${column(({ shownWriter }) => shownWriter)}::text[],
      ${column(({ targetWamid }) => targetWamid)}::text[],
      ${column(({ kind }) => kind)}::text[],
      ${column(({ text }) => text)}::text[],
      ${column(({ occurredAt }) => occurredAt.getTime() / 1_000)}::double precision[]
    ) with ordinality as change (
      company_id, wamid, sender_id, direction, writers, shown_writer, target_wamid, kind, text, occurred, ord
    )
    order by ord
    on conflict do nothing
    returning company_id, wamid
  `
  await tx`
    select apply_message_changes(
      ${column(({ companyId }) => companyId)}::bigint[], ${column(({ targetWamid }) => targetWamid)}::text[], ${at}
    )
  `
  const isKept = new Set(kept.map(({ companyId, wamid }) => `${companyId} ${wamid}`))
  return changes.map((change) => !naming.includes(change) || isKept.delete(`${change.companyId} ${change.wamid}`))
}
