import { NO_EVENTS } from '../../src/changes/record-change.ts'
import { recordAnswers } from '../../src/inbound/handling/batch/record-inbound.ts'
import { type CompletedSend, completeSends } from '../../src/sends/batch/send-write-store.ts'
import type { Send } from '../../src/sends/compose-message.ts'
import { createTestDatabase } from '../database.ts'
import { createCompany, createSender, messageTo } from '../world.ts'

export const NOON = new Date('2026-11-21T12:00:00Z')

export const hoursAfter = (hours: number) => new Date(NOON.getTime() + hours * 3_600_000)

/** A send that the provider accepted. */
export const completed = (companyId: number, messageId: number): CompletedSend => ({
  companyId,
  messageId,
  status: 'sent',
  wamid: `wamid.${companyId}.${messageId}`,
  providerMessageId: null,
  recipient: null,
  error: null,
  isLimited: false,
  reaction: null,
  hasProviderMedia: false,
  idempotencyId: null,
  scheduledId: null,
  answer: null,
})

/** A send that counted in a daily limit and did not reach the customer, or may not have. */
export const ended = (
  companyId: number,
  messageId: number,
  status: 'failed' | 'unknown' = 'failed',
): CompletedSend => ({
  ...completed(companyId, messageId),
  status,
  wamid: null,
  isLimited: true,
})

/** A database with the helpers of tests that write batches of sends straight into it. */
export async function startBatches() {
  const { db, url } = await createTestDatabase({ mirrors: true })
  /** Completes sends as their batch does. */
  async function complete(...sends: CompletedSend[]): Promise<void> {
    await db.begin((tx) => completeSends(tx, sends, NOON))
    const recipients = sends.flatMap(({ recipient }) => (recipient === null ? [] : [recipient]))
    await recordAnswers({ db, recordEvents: NO_EVENTS }, recipients, 'service', NOON)
  }
  async function world() {
    const companyId = await createCompany(db)
    const senderId = await createSender(db, companyId)
    const send = (changes: Partial<Send> = {}): Send => ({
      ...messageTo(companyId, senderId, '393331234567'),
      ...changes,
    })
    const count = async (table: string) => {
      const [row] = await db<
        { n: number }[]
      >`select count(*)::int as n from ${db(table)} where company_id = ${companyId}`
      return row!.n
    }
    return { companyId, senderId, send, count }
  }
  return { db, url, complete, world }
}
