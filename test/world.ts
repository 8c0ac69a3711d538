import { randomInt } from 'node:crypto'
import type { StatusRecord } from '../src/conversations/recording/waiting-store.ts'
import type { Db, Pool } from '../src/db/connect.ts'
import type { InboundEntry, InboundRecord } from '../src/inbound/handling/batch/decide-inbound.ts'
import { recordInbound } from '../src/inbound/handling/batch/record-inbound.ts'
import type { Send } from '../src/sends/compose-message.ts'

/** Rows that tests of single rooms start from, written straight into the tables. */
export async function createCompany(db: Pool, name = 'Acme'): Promise<number> {
  const [row] = await db<{ id: number }[]>`insert into companies (name) values (${name}) returning id`
  return row!.id
}

export async function createSender(db: Pool, companyId: number, wabaAccountId = 'WABA1'): Promise<number> {
  const phone = `39${randomInt(1_000_000_000, 9_999_999_999)}`
  const [row] = await db<{ id: number }[]>`
    insert into senders (
      company_id, provider, phone_number, phone, phone_name, phone_number_id, waba_account_id, access_token, is_preferred
    )
    values (
      ${companyId}, 'meta', ${`+${phone}`}, ${phone}, 'Acme', ${`PN${phone}`}, ${wabaAccountId}, 'secret',
      not exists (select from senders where company_id = ${companyId})
    )
    returning id
  `
  await db`insert into sender_limits (company_id, sender_id) values (${companyId}, ${row!.id})`
  return row!.id
}

/** A text of a customer who is known by a phone number alone. */
export const messageFrom = (companyId: number, senderId: number, customer: string): InboundRecord => ({
  companyId,
  senderId,
  account: 'WABA1',
  kind: 'message',
  phone: customer,
  userId: null,
  groupId: null,
  profileName: null,
  wamid: `wamid.${customer}`,
  type: 'text',
  messageKind: null,
  text: 'Hello',
  media: null,
  content: null,
  context: null,
  error: null,
  quotedWamid: null,
  targetWamid: null,
  emoji: null,
  sentAt: null,
  arrivedAt: new Date(),
  opensWindow: true,
  senderName: null,
})

/** Records messages, reactions and reports of identities in one transaction, and answers for each of those that were written. */
export async function record(db: Db, entries: readonly InboundEntry[], at: Date) {
  const run = (tx: Db) => recordInbound(tx, entries, { sourceType: 'parley', at })
  const { recorded } = await ('begin' in db ? db.begin(run) : run(db))
  return recorded
}

/** A status that arrives now. */
export const statusRecord = (
  named: Pick<StatusRecord, 'companyId' | 'senderId' | 'status'> & Partial<StatusRecord>,
): StatusRecord => ({
  ...{ wamid: null, providerMessageId: null, messageId: null, waitingId: null },
  ...{ occurredAt: new Date(), arrivedAt: new Date(), recipientPhone: null, identities: [] },
  ...{ pricing: null, error: null },
  ...named,
})

/** Sends without consequences for other rooms. */
export const NO_CONSEQUENCES = { copyMedia: async () => {}, learnRecipients: async () => {} }

/** A text to a customer who is known by a phone number, without checks. */
export const messageTo = (companyId: number, senderId: number, customer: string): Send => ({
  companyId,
  senderId,
  identity: customer,
  phone: customer,
  account: 'WABA1',
  conversationId: null,
  contactSource: 'WhatsApp',
  sourceType: 'service',
  needsWindow: false,
  needsConsent: false,
  dailyLimit: null,
  limitScope: `sender:${senderId}`,
  slotSeconds: null,
  type: 'text',
  template: null,
  text: 'Hello',
  media: null,
  content: null,
  quotedWamid: null,
  senderName: 'Shop key',
  key: null,
  scheduledId: null,
})

/** A connected number, of a company of its own, as the provider's id. */
export async function connectNumber(db: Pool): Promise<string> {
  const companyId = await createCompany(db)
  const senderId = await createSender(db, companyId)
  const [route] = await db<{ phoneNumberId: string }[]>`
    insert into sender_routes (phone_number_id, company_id, sender_id)
    select phone_number_id, company_id, id from senders where (company_id, id) = (${companyId}, ${senderId})
    returning phone_number_id
  `
  return route!.phoneNumberId
}

/** Makes the leases of all jobs expire, as 15 s after the death of the process that held them. */
export async function expireLeases(db: Pool): Promise<void> {
  await db`update jobs set lease_until = now() - interval '6 s' where lease_until is not null`
}
