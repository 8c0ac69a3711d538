import type { Publish } from '../../changes/live-change.ts'
import { getConversation } from '../../conversations/conversation.ts'
import type { Db, Json, Pool } from '../../db/connect.ts'
import { withTimeout } from '../../http/errors/database-timeout.ts'
import { alreadySent, scheduledMessageNotFound, validationError } from '../../platform/errors.ts'
import { parseId } from '../../platform/ids.ts'
import { customerIdentity } from '../../platform/text/phone.ts'
import { enqueueJobs } from '../../queue/job-store.ts'
import { type ComposeDeps, composeMessage } from '../compose-message.ts'
import { toSend } from '../replies/reply.ts'
import { parseSend, type SendRequest } from '../send-request.ts'
import type { ContentBody, SendBody } from '../send-shape.ts'
import {
  type DueMessage,
  deleteScheduled,
  failWaiting,
  findScheduled,
  insertScheduled,
  readScheduleFacts,
  type ScheduledMessage,
} from './scheduled-store.ts'

export type ScheduleDeps = ComposeDeps & { db: Pool; publish: Publish }

/** The kind of the jobs that send scheduled messages. */
export const SEND_SCHEDULED = 'message.send'

/** How far ahead a message may be scheduled, and how many of a company may wait. */
const DAYS = 30
const LIMIT = 100_000

/** A send that asks for a time: as it would go now, and the body from which it is made again when it goes. */
export type Scheduling = {
  keyName: string
  /** The API key, also of a console session; null: the operator. */
  clientId: string | null
  sendAt: Date
  request: SendRequest
  body: SendBody | ContentBody
}

/**
 * Schedules a message, with its job, in one transaction. Sender, template and quoted message are checked now; limits, window and
 * consent are decided when it goes. `alsoCommit` runs in the transaction.
 * @throws {AppError} as `composeMessage`; 422 for a time that is past or too far away, or when too many messages wait
 */
export async function scheduleMessage(
  deps: ScheduleDeps,
  companyId: number,
  { keyName, clientId, sendAt, request, body }: Scheduling,
  alsoCommit: (tx: Db, message: ScheduledMessage) => Promise<void>,
): Promise<ScheduledMessage> {
  const { sender, outbound } = await composeMessage(deps, companyId, request)
  const writing = deps.db.begin(async (tx) => {
    requireAcceptable(await readScheduleFacts(tx, companyId, sendAt, { days: DAYS, limit: LIMIT }))
    const message = await insertScheduled(tx, companyId, {
      senderId: sender.id,
      recipient: request.recipient,
      identity: customerIdentity(request.recipient),
      conversationId: request.conversationId,
      isReply: request.conversationId !== null,
      type: request.content.type,
      text: outbound.text,
      body: toStored(body),
      senderName: keyName,
      clientId,
      sendAt,
    })
    const lane = `send:${companyId}`
    await enqueueJobs(tx, [{ kind: SEND_SCHEDULED, lane, companyId, subjectId: message.id, dueAt: sendAt }])
    await alsoCommit(tx, message)
    return { message }
  })
  const { message } = await withTimeout(writing)
  publishScheduled(deps, companyId, message)
  return message
}

function requireAcceptable({ isAhead, isNear, isFull }: Awaited<ReturnType<typeof readScheduleFacts>>): void {
  const refuse = (message: string) => validationError([{ path: 'sendAt', message }])
  if (!isAhead) throw refuse('must be in the future')
  if (!isNear) throw refuse(`must be at most ${DAYS} days ahead`)
  if (isFull) throw refuse(`is refused: ${LIMIT.toLocaleString('en')} messages wait already`)
}

/** The members of a body that are read again when the message goes. */
const toStored = ({ sendAt: _, ...body }: SendBody | ContentBody): Json => JSON.parse(JSON.stringify(body))

/**
 * The send of a message whose time has come.
 * @throws {AppError} 404 when its conversation is gone; 400 when the conversation has no recipient any more
 */
export async function toDueSend(db: Db, companyId: number, message: DueMessage): Promise<SendRequest> {
  if (message.isReply) {
    return toSend(await getConversation(db, companyId, String(message.conversationId)), message.body)
  }
  return { ...parseSend(message.body), sender: { id: message.senderId } }
}

/** Fails all messages of a removed company that wait: their jobs end with it. */
export const failAllScheduled = (tx: Db, companyId: number): Promise<void> =>
  failWaiting(tx, companyId, { code: null, message: 'The company was removed' })

/** The scheduled message that a path names; 404 when the company has none of this id. */
export async function getScheduled(db: Db, companyId: number, text: string): Promise<ScheduledMessage> {
  const id = parseId(text)
  const message = id === undefined ? undefined : await findScheduled(db, companyId, id)
  if (message === undefined) throw scheduledMessageNotFound()
  return message
}

/**
 * Cancels a message that waits, or removes one that has failed.
 * @throws {AppError} 404; 409 `already_sent`
 */
export async function cancelScheduled(
  deps: Pick<ScheduleDeps, 'db' | 'publish'>,
  companyId: number,
  text: string,
): Promise<void> {
  const { id } = await getScheduled(deps.db, companyId, text)
  const deleted = await deleteScheduled(deps.db, companyId, id)
  if (deleted === undefined) {
    await getScheduled(deps.db, companyId, text)
    throw alreadySent()
  }
  publishScheduled(deps, companyId, deleted)
}

export function publishScheduled(
  { publish }: { publish: Publish },
  companyId: number,
  { conversationId }: { conversationId: number | null },
): void {
  if (conversationId !== null) publish([{ topic: 'scheduled', companyId, id: conversationId }])
}
