import { ConstantBackoff, handleWhen, retry } from 'cockatiel'
import {
  dropMessageMonth,
  findExpiredMonth,
  startConversationsAfter,
  type WalkPlace,
} from '../../conversations/message-expiry-store.ts'
import type { Db } from '../../db/connect.ts'
import { isLockTimeout } from '../../db/pool/failure.ts'
import { namePeopleOfMessages, type OutlivedPlace } from '../../webhooks/deliveries/erase-envelopes.ts'

const CONVERSATIONS = 500
const MESSAGES = 1_000
/** A drop waits 30 ms for its lock; a minute of attempts should find the table unused. */
const dropping = retry(handleWhen(isLockTimeout), { maxAttempts: 300, backoff: new ConstantBackoff(200) })

type Kept = { messageDays: number; deliveryLogDays: number }

/** Drops months that ended over `messageDays` ago, after updating their conversations. Each step can be repeated. */
export async function expireMonths(db: Db, { messageDays, deliveryLogDays }: Kept, signal: AbortSignal): Promise<void> {
  for (;;) {
    const month = await findExpiredMonth(db, messageDays)
    if (month === undefined || signal.aborted) return
    if (messageDays < deliveryLogDays) await namePeople(db, month, signal)
    await startAfter(db, month, signal)
    if (signal.aborted || !(await drop(db, month, messageDays, signal))) return
  }
}

/** Envelopes outlive their messages, by which an erasure would find them. */
async function namePeople(db: Db, month: number, signal: AbortSignal): Promise<void> {
  let place: OutlivedPlace | undefined = { companyId: Number.MIN_SAFE_INTEGER, id: 0 }
  while (place !== undefined && !signal.aborted) place = await namePeopleOfMessages(db, month, place, MESSAGES)
}

async function startAfter(db: Db, month: number, signal: AbortSignal): Promise<void> {
  let place: WalkPlace | undefined = { companyId: Number.MIN_SAFE_INTEGER, id: 0 }
  while (place !== undefined && !signal.aborted) place = await startConversationsAfter(db, month, place, CONVERSATIONS)
}

/** Returns false if another worker dropped the month, or the table stayed in use. */
async function drop(db: Db, month: number, keepDays: number, signal: AbortSignal): Promise<boolean> {
  try {
    return await dropping.execute(() => dropMessageMonth(db, month, keepDays), signal)
  } catch (error) {
    if (!isLockTimeout(error)) throw error
    return false
  }
}
