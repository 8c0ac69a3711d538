import { setTimeout as sleep } from 'node:timers/promises'
import { deleteMessages, findExpiredMessages } from '../conversations/message-expiry-store.ts'
import {
  deleteFiles,
  dropMessageMonth,
  findExpiredMonth,
  findMonthFiles,
  startConversationsAfter,
  type WalkPlace,
} from '../conversations/message-month-store.ts'
import type { Db } from '../db/connect.ts'
import { isLockTimeout } from '../db/pool/failure.ts'
import type { BlobStore } from '../media/blobs/blob-store.ts'

type ExpireDeps = { db: Db; blobStore: Pick<BlobStore, 'remove'> }

/** Companies and rows of each that one statement looks after. */
const COMPANIES = 100
const ROWS_OF_COMPANY = 100
/** Conversations that one statement changes: it lasts milliseconds, and delays no other. */
const CONVERSATIONS = 500
/** A drop waits 30 ms for its lock; a minute of attempts finds the table unused. */
const DROP_ATTEMPTS = 300
const DROP_PAUSE_MS = 200

/**
 * Drops the months that ended more than `keepDays` days ago: first the files of their messages, then the counts and last texts of
 * their conversations, at last the partition. Each step may be repeated.
 */
export async function expireMonths(deps: ExpireDeps, keepDays: number, signal: AbortSignal): Promise<void> {
  for (;;) {
    const month = await findExpiredMonth(deps.db, keepDays)
    if (month === undefined || signal.aborted) return
    await removeFiles(deps, month, signal)
    await startAfter(deps.db, month, signal)
    if (signal.aborted || !(await drop(deps.db, month, keepDays, signal))) return
  }
}

/** Files first: a message that is gone leads to none. */
async function removeFiles({ db, blobStore }: ExpireDeps, month: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const found = await findMonthFiles(db, month, COMPANIES, ROWS_OF_COMPANY)
    if (found.length === 0) return
    for (const { companyId, messageIds, storageKeys } of found) {
      for (const key of storageKeys) await blobStore.remove(key)
      await deleteFiles(db, companyId, messageIds)
    }
  }
}

async function startAfter(db: Db, month: number, signal: AbortSignal): Promise<void> {
  let place: WalkPlace | undefined = { companyId: Number.MIN_SAFE_INTEGER, id: 0 }
  while (place !== undefined && !signal.aborted) place = await startConversationsAfter(db, month, place, CONVERSATIONS)
}

/** False when another worker has dropped it, or the table was in use all the time. */
async function drop(db: Db, month: number, keepDays: number, signal: AbortSignal): Promise<boolean> {
  for (let attempt = 0; attempt < DROP_ATTEMPTS && !signal.aborted; attempt += 1) {
    try {
      return await dropMessageMonth(db, month, keepDays)
    } catch (error) {
      if (!isLockTimeout(error)) throw error
    }
    await sleep(DROP_PAUSE_MS)
  }
  return false
}

/** Deletes expired messages from before the months, some of each company; returns of how many companies. */
export async function expireEarlierMessages({ db, blobStore }: ExpireDeps, keepDays: number): Promise<number> {
  const expired = await findExpiredMessages(db, keepDays, COMPANIES, ROWS_OF_COMPANY)
  for (const { companyId, ids, storageKeys } of expired) {
    for (const key of storageKeys) await blobStore.remove(key)
    await deleteMessages(db, companyId, ids)
  }
  return expired.length
}
