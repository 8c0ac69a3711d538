import type { StatusRecord } from '../../src/conversations/recording/waiting-store.ts'
import { createTestDatabase } from '../database.ts'
import { createTwins } from '../twins.ts'
import { statusRecord } from '../world.ts'

export const AT = new Date('2026-01-03T00:00:00Z')

export const WAMID = 'wamid.1'

export const statusOf = (companyId: number, status: StatusRecord['status']): StatusRecord =>
  statusRecord({ companyId, senderId: 1, wamid: WAMID, status, occurredAt: AT })

export const NOTHING_WRITTEN = {
  ...{
    isNew: false,
    userId: null,
    profileName: null,
    unread: 0,
    isAnswered: false,
    isWrittenTo: false,
    isClosed: false,
  },
  ...{ lastDirection: null, lastMessageAt: null, lastInboundAt: null, window: null, place: null },
}

/** A database, and pairs of companies whose messages have the same ids. */
export async function startTwins() {
  const { db } = await createTestDatabase()
  /** Two companies that have each a message with the same ids, and a copy of its media under a name of its own. */
  async function createMessages({ twinMessageId = 1 } = {}) {
    const { companyId, twinId } = await createTwins(db, {
      contacts: [[1, '39333', '39333']],
      customers: [[1, 1, '39333']],
      identities: [['39333', 1]],
      conversations: [[1, 1, 'open']],
    })
    for (const [id, messageId] of [[companyId, 1] as const, [twinId, twinMessageId] as const]) {
      await db`
      insert into messages (company_id, id, conversation_id, seq, direction, type, status, wamid, provider_message_id)
      overriding system value
      values (${id}, ${messageId}, 1, 1, 'outbound', 'text', 'sent', ${WAMID}, ${WAMID})
    `
      await db`
      insert into media (company_id, message_id, sender_id, provider_media_id, storage_key)
      values (${id}, ${messageId}, 1, 'media', ${`copy of ${id}`})
    `
    }
    return { companyId, twinId }
  }
  const statusesOf = async (...companies: number[]) => {
    const rows = await db<{ companyId: number; status: string }[]>`
    select company_id, status from messages where company_id = any(${companies}::bigint[])
  `
    return companies.map((id) => rows.find(({ companyId }) => companyId === id)?.status)
  }
  /** Another sender of a company, with the id 2. */
  const addSender = (companyId: number) => db`
  insert into senders (
    company_id, id, provider, phone_number, phone, phone_name, phone_number_id, waba_account_id, access_token
  )
  overriding system value
  values (${companyId}, 2, 'meta', '+2', '2', 'Acme', ${`PN2${companyId}`}, 'WABA', 'secret')
`
  /** A change of the message of a company; by the business, unless writers are given. */
  const insertChange = (companyId: number, { senderId = 1, writers = [] as string[] } = {}) => db`
  insert into message_changes (company_id, wamid, sender_id, direction, writers, target_wamid, kind, occurred_at)
  values (
    ${companyId}, 'c', ${senderId}, ${writers.length > 0 ? 'inbound' : 'outbound'}, ${writers}, ${WAMID}, 'revoke', ${AT}
  )
`
  const applyChanges = (companyId: number) =>
    db`select apply_message_changes(array[row(${companyId}, ${WAMID})::message_key], ${AT})`
  const isRevoked = async (companyId: number) =>
    (await db`select from messages where company_id = ${companyId} and revoked_at is not null`).count === 1
  return { db, createMessages, statusesOf, addSender, insertChange, applyChanges, isRevoked }
}
