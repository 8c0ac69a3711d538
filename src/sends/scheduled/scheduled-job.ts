import type { Publish } from '../../changes/live-change.ts'
import type { Db } from '../../db/connect.ts'
import { AppError, forbidden, mediaStorageUnavailable, senderRemoved } from '../../platform/errors.ts'
import { StorageFailure } from '../../platform/files/storage-failure.ts'
import { done, type Job, type Outcome, retryAfter } from '../../queue/job.ts'
import type { SingleKind } from '../../queue/job-kind.ts'
import { type SendDeps, sendMessage } from '../send.ts'
import { REPLY_PERMISSIONS, SEND_PERMISSIONS } from '../send-permissions.ts'
import { publishScheduled, SEND_SCHEDULED, toDueSend } from './scheduled-message.ts'
import { type DueMessage, endSent, failScheduled, findDue, type ScheduledError } from './scheduled-store.ts'

export type ScheduledJobDeps = SendDeps & { db: Db; publish: Publish }

/** Messages in flight: of one company over all processes, and of all companies in this process. */
const LANE_CAP = 20
const CONCURRENCY = 60
/** How long after its time a message is tried again while it certainly did not reach the customer. */
export const RETRY_FOR_MS = 60 * 60_000
/** Waits between the attempts: 15, 30, 60 … s, and longer when the refusal asks for it. */
export const FIRST_WAIT_MS = 15_000
export const LONGEST_WAIT_MS = 5 * 60_000

/**
 * The job that sends one scheduled message. The message is created and recorded in one transaction before the provider is called, which
 * one run can do: a process that dies afterwards leaves a message with an unknown outcome, as every send does, and no second one.
 */
export const sendScheduledKind = (deps: ScheduledJobDeps): SingleKind => ({
  kind: SEND_SCHEDULED,
  laneCap: LANE_CAP,
  concurrency: CONCURRENCY,
  // Only faults of our own count here; the message must not be forgotten for them.
  maxAttempts: 1_000_000,
  handle: (job) => sendDue(deps, job),
})

async function sendDue(deps: ScheduledJobDeps, { companyId = 0, subjectId: id, attempts }: Job): Promise<Outcome> {
  const message = await findDue(deps.db, companyId, id)
  // It was cancelled or erased.
  if (message === undefined) return done
  const refusal = message.status === 'scheduled' ? await send(deps, companyId, id, message) : undefined
  // A final refusal is of the provider: the message in the conversation says why it failed.
  if (refusal !== undefined && !refusal.final) {
    const waitMs = retryWaitMs(refusal, attempts, message.lateMs)
    if (waitMs !== undefined) return retryAfter(waitMs, { error: refusal.message })
    await failScheduled(deps.db, companyId, id, toError(refusal))
  }
  await endSent(deps.db, companyId, id)
  publishScheduled(deps, companyId, message)
  return done
}

/** Sends a message; returns why it was refused. */
async function send(
  deps: ScheduledJobDeps,
  companyId: number,
  id: number,
  message: DueMessage,
): Promise<AppError | undefined> {
  const caller = { companyId, keyName: message.senderName, key: null, scheduledId: id }
  try {
    checkRights(message)
    await sendMessage(deps, caller, await toDueSend(deps.db, companyId, message))
    return undefined
  } catch (error) {
    if (error instanceof AppError) return error
    if (error instanceof StorageFailure) return mediaStorageUnavailable()
    throw error
  }
}

/**
 * How long to wait for a refusal to pass; undefined: it does not, or the hour after the message's time is over. The last attempt
 * is at the end of the hour, however long the refusal asks to wait.
 */
export function retryWaitMs(refusal: AppError, attempts: number, lateMs: number): number | undefined {
  const { status, headers, mayPassEarlier } = refusal
  if ((status !== 429 && status !== 503) || lateMs >= RETRY_FOR_MS) return undefined
  const ownMs = Math.min(FIRST_WAIT_MS * 2 ** attempts, LONGEST_WAIT_MS)
  const waitMs = mayPassEarlier ? ownMs : Math.max(ownMs, Number(headers['retry-after'] ?? 0) * 1000)
  return Math.min(waitMs, RETRY_FOR_MS - lateMs)
}

/**
 * A message is sent with the rights that its key has when it is due.
 * @throws {AppError} 403, 404 when the key or the sending number may not send it any more
 */
function checkRights({ rights: { isSenderRemoved, key }, isReply }: DueMessage): void {
  if (isSenderRemoved) throw senderRemoved()
  if (key === null) return
  if (key.isRevoked) throw forbidden(`The API key ${key.name} was revoked`)
  if (key.isExpired) throw forbidden(`The API key ${key.name} has expired`)
  const permissions = isReply ? REPLY_PERMISSIONS : SEND_PERMISSIONS
  if (!permissions.some((permission) => key.permissions.includes(permission)))
    throw forbidden(`The API key ${key.name} needs the permission ${permissions.join(' or ')}`)
}

function toError({ body }: AppError): ScheduledError {
  if ('message' in body) return { code: null, message: body.message }
  return typeof body.error === 'string' ? { code: null, message: body.error } : body.error
}
