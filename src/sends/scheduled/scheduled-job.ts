import type { Publish } from '../../changes/live-change.ts'
import type { Db } from '../../db/connect.ts'
import { AppError, forbidden, mediaStorageUnavailable, senderRemoved } from '../../platform/errors.ts'
import { StorageFailure } from '../../platform/files/storage-failure.ts'
import { done, type Job, type Outcome, retryAfter, type SingleKind } from '../../queue/job.ts'
import { REPLY_PERMISSIONS, SEND_PERMISSIONS, type SendDeps, sendMessage } from '../send.ts'
import { publishScheduled, SEND_SCHEDULED, toDueSend } from './scheduled-message.ts'
import { type DueMessage, endSent, failScheduled, findDue, type ScheduledError } from './scheduled-store.ts'

type ScheduledJobDeps = SendDeps & { db: Db; publish: Publish }

/** Per company across processes; `CONCURRENCY` is per process. */
const LANE_CAP = 20
const CONCURRENCY = 60
/** After the due time, while certainly not delivered. */
const RETRY_FOR_MS = 60 * 60_000
/** Doubles from 15 s, or longer if the refusal requires. */
export const FIRST_WAIT_MS = 15_000
export const LONGEST_WAIT_MS = 5 * 60_000

/**
 * Records the message in one transaction before calling the provider, so only one run can: a crash leaves one message
 * with unknown outcome, never a second send.
 */
export const sendScheduledKind = (deps: ScheduledJobDeps): SingleKind => ({
  kind: SEND_SCHEDULED,
  laneCap: LANE_CAP,
  concurrency: CONCURRENCY,
  // Only internal faults count, and must never discard the message.
  maxAttempts: 1_000_000,
  handle: (job) => sendDue(deps, job),
})

async function sendDue(deps: ScheduledJobDeps, { companyId = 0, subjectId: id, attempts }: Job): Promise<Outcome> {
  const message = await findDue(deps.db, companyId, id)
  if (message === undefined) return done
  const refusal = message.status === 'scheduled' ? await send(deps, companyId, id, message) : undefined
  // Provider refusal; the message shows the reason.
  if (refusal !== undefined && !refusal.final) {
    const waitMs = retryWaitMs(refusal, attempts, message.lateMs)
    if (waitMs !== undefined) return retryAfter(waitMs, { error: refusal.message })
    await failScheduled(deps.db, companyId, id, toError(refusal))
  }
  await endSent(deps.db, companyId, id)
  publishScheduled(deps, companyId, message)
  return done
}

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

/** Returns the wait, up to a last attempt one hour past due; undefined afterwards and for lasting refusals. */
function retryWaitMs(refusal: AppError, attempts: number, lateMs: number): number | undefined {
  const { status, headers, mayPassEarlier } = refusal
  if ((status !== 429 && status !== 503) || lateMs >= RETRY_FOR_MS) return undefined
  const ownMs = Math.min(FIRST_WAIT_MS * 2 ** attempts, LONGEST_WAIT_MS)
  const waitMs = mayPassEarlier ? ownMs : Math.max(ownMs, Number(headers['retry-after'] ?? 0) * 1000)
  return Math.min(waitMs, RETRY_FOR_MS - lateMs)
}

/** Checks the key's current permissions; 403 or 404 if the message can't be sent any more. */
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
