import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { untilBlocked } from '../../../test/held-locks.ts'
import {
  createCompany,
  createSender,
  messageFrom,
  messageTo,
  NO_CONSEQUENCES,
  record,
  statusRecord,
} from '../../../test/world.ts'
import { systemClock } from '../../platform/clock.ts'
import { createSendBatches } from '../../sends/batch/send-batches.ts'
import { markRead, readUpTo } from './conversation-write-store.ts'
import { recordStatuses } from './status-store.ts'

const { db } = await createTestDatabase()

/** A customer who has written once, and has been answered; the answer is pending. */
async function createConversation() {
  const companyId = await createCompany(db)
  const senderId = await createSender(db, companyId)
  const customer = `39333${companyId}000`
  let written = 0
  const write = () => {
    written += 1
    return { ...messageFrom(companyId, senderId, customer), wamid: `w${companyId} ${written}` }
  }
  await record(db, [write()], new Date())
  const { prepareSend } = createSendBatches(db, systemClock, NO_CONSEQUENCES)
  const prepared = await prepareSend(messageTo(companyId, senderId, customer))
  if (prepared.refusal !== null) throw new Error(prepared.refusal)
  const { conversationId, messageId: id } = prepared
  const inbox = async () => {
    const [row] = await db<{ unread: number; isUnread: boolean; recount: number }[]>`
      select conversation.unread_messages as unread, activity.is_unread, (
        select count(*)::integer from messages message
        where (message.company_id, message.conversation_id) = (conversation.company_id, conversation.id)
          and message.direction = 'inbound'
          and message.seq > coalesce((
            select max(seq) from messages answer
            where (answer.company_id, answer.conversation_id) = (conversation.company_id, conversation.id)
              and answer.direction = 'outbound' and answer.status not in ('pending', 'failed')
          ), 0)
      ) as recount
      from conversations conversation
      join conversation_activity activity
        on (activity.company_id, activity.conversation_id) = (conversation.company_id, conversation.id)
      where (conversation.company_id, conversation.id) = (${companyId}::bigint, ${conversationId}::bigint)
    `
    return row
  }
  /** The customer writes in a transaction that commits once the work waits for a lock. */
  const writeDuring = async (work: () => Promise<unknown>) => {
    const isWritten = Promise.withResolvers<void>()
    const isReleased = Promise.withResolvers<void>()
    const writing = db.begin(async (tx) => {
      await record(tx, [write()], new Date())
      isWritten.resolve()
      await isReleased.promise
    })
    await isWritten.promise
    const working = work()
    await untilBlocked(db)
    isReleased.resolve()
    await Promise.all([writing, working])
  }
  const report = (status: 'sent' | 'delivered' | 'read' | 'failed') => {
    const reported = statusRecord({ companyId, senderId, wamid: `out ${id}`, messageId: id, status })
    return db.begin((tx) => recordStatuses(tx, [reported], new Date()))
  }
  return { companyId, conversationId, id, inbox, writeDuring, report }
}

test('a message that comes while an answer is recorded stays unread', async () => {
  const { companyId, id, inbox, writeDuring } = await createConversation()
  await writeDuring(() => db.begin((tx) => readUpTo(tx, [{ companyId, id }])))
  expect(await inbox()).toMatchObject({ unread: 1, isUnread: true })
})

test('a message that comes while the conversation is marked as read stays unread', async () => {
  const { companyId, conversationId, inbox, writeDuring } = await createConversation()
  await writeDuring(() => markRead(db, companyId, conversationId, 2))
  expect(await inbox()).toMatchObject({ unread: 1, isUnread: true })
})

test.each([
  'sent',
  'delivered',
  'read',
] as const)('an answer whose outcome was lost reads the conversation once it is reported as %s', async (status) => {
  const { report, inbox } = await createConversation()
  await report(status)
  expect(await inbox()).toEqual({ unread: 0, isUnread: false, recount: 0 })
})

test('an answer that is reported as failed leaves the conversation unread', async () => {
  const { report, inbox } = await createConversation()
  await report('failed')
  expect(await inbox()).toEqual({ unread: 1, isUnread: true, recount: 1 })
})
