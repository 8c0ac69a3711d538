import type { Publish } from '../../changes/live-change.ts'
import { getConversation } from '../../conversations/conversation-store.ts'
import type { Db, Json, Pool } from '../../db/connect.ts'
import { withTimeout } from '../../http/server/answers/answers.ts'
import { alreadySent, scheduledMessageNotFound, validationError } from '../../platform/errors.ts'
import { parseId } from '../../platform/ids.ts'
import { customerIdentity } from '../../platform/text/phone.ts'
import { enqueueJobs } from '../../queue/job-store.ts'
import { type ComposeDeps, composeMessage } from '../compose-message.ts'
import { parseSend, type SendRequest, toSend } from '../send-request.ts'
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

export const SEND_SCHEDULED = 'message.send'

/** Scheduling horizon, and waiting messages per company. */
const DAYS = 30
const LIMIT = 100_000

export type Scheduling = {
  keyName: string
  /** Also for console sessions; null: operator. */
  clientId: string | null
  sendAt: Date
  request: SendRequest
  body: SendBody | ContentBody
}

/**
 * Schedules a message and its job. Checks sender, template and quoted message now; limits, window and consent when due.
 * Throws like `composeMessage`; 422 for a past or distant time or too many waiting messages.
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

const toStored = ({ sendAt: _, ...body }: SendBody | ContentBody): Json => JSON.parse(JSON.stringify(body))

/** Builds the due send; 404 without conversation, 400 without recipient. */
export async function toDueSend(db: Db, companyId: number, message: DueMessage): Promise<SendRequest> {
  if (message.isReply) {
    return toSend(await getConversation(db, companyId, String(message.conversationId)), message.body)
  }
  return { ...parseSend(message.body), sender: { id: message.senderId } }
}

/** Fails a removed company's waiting messages; their jobs then do nothing. */
export const failAllScheduled = (tx: Db, companyId: number): Promise<void> =>
  failWaiting(tx, companyId, { code: null, message: 'The company was removed' })

/** Returns a scheduled message by its path id, or throws 404. */
export async function getScheduled(db: Db, companyId: number, text: string): Promise<ScheduledMessage> {
  const id = parseId(text)
  const message = id === undefined ? undefined : await findScheduled(db, companyId, id)
  if (message === undefined) throw scheduledMessageNotFound()
  return message
}

/** Cancels a waiting message, or removes a failed one; 404, or 409 `already_sent`. */
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
