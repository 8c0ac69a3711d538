import type { Clock } from '../clock.ts'
import { expireImports } from '../contacts/import/contact-import-store.ts'
import { expireReactions } from '../conversations/message-expiry-store.ts'
import type { Pool } from '../db/connect.ts'
import { EXPIRING, expireRows } from '../db/lifetime-store.ts'
import { expireEmails } from '../emails/email-removal-store.ts'
import { removeExpiredKeys } from '../http/idempotency/idempotency-store.ts'
import { expireBodies } from '../inbound/handling/bodies/body-store.ts'
import { expireDeadLetters } from '../inbound/handling/unhandled/dead-letter-store.ts'
import { expireCounts } from '../inbound/ingest/unhandled-store.ts'
import type { BlobStore } from '../media/blobs/blob-store.ts'
import { removeDueUploads } from '../media/uploads/expire-uploads.ts'
import { expireDailyLimitEntries } from '../messages/batch/daily-limit-store.ts'
import { removeLeftFiles } from '../moves/moving-file-store.ts'
import type { Config } from '../settings/config.ts'
import { expireEarlierMessages, expireMonths } from './expire-messages.ts'

/** Rows that one statement deletes: a statement lasts milliseconds, and delays no other. */
const ROWS = 1_000
/** Rows with bodies of up to 4 MiB. */
const BODIES = 100
/** Statements for one table in a run: 100,000 rows in 30 s, more than a process writes in that time. */
const MOST_STATEMENTS = 100
/** Files that one transaction removes from the store. */
const FILES = 50
/** Companies and senders that one statement looks after. */
const COMPANIES = 100
const ROWS_OF_COMPANY = 100

type ExpireDeps = {
  db: Pool
  blobStore: BlobStore
  clock: Clock
  config: Pick<Config, 'messageDays' | 'emailDays'>
}

/**
 * Deletes what is older than its lifetime (docs/operating.md: Lifetimes), in short statements, until nothing is left or the
 * signal is aborted.
 */
export async function expireData(deps: ExpireDeps, signal: AbortSignal): Promise<void> {
  const { db, clock, config } = deps
  const { messageDays, emailDays } = config
  /** Repeats a step that returns how much it deleted while it deletes as much as it may. */
  const repeat = async (full: number, step: () => Promise<number>) => {
    for (let statements = 0; statements < MOST_STATEMENTS && !signal.aborted; statements += 1) {
      if ((await step()) < full) return
    }
  }
  for (const table of EXPIRING) await repeat(ROWS, () => expireRows(db, table, ROWS))
  await repeat(ROWS, () => removeExpiredKeys(db, ROWS))
  await repeat(BODIES, () => expireDeadLetters(db, BODIES))
  await repeat(BODIES, () => expireBodies(db, BODIES))
  await repeat(ROWS, () => expireCounts(db, ROWS))
  await repeat(1, () => expireDailyLimitEntries(db, COMPANIES, clock.now()))
  await repeat(ROWS, () => expireImports(db, ROWS))
  await repeat(FILES, () => removeDueUploads(deps, FILES))
  await removeLeftFiles(db, (key) => deps.blobStore.remove(key))
  if (emailDays !== undefined) await repeat(1, () => expireEmails(db, emailDays, COMPANIES, ROWS_OF_COMPANY))
  if (messageDays !== undefined) {
    await repeat(ROWS, () => expireReactions(db, messageDays, ROWS))
    await repeat(1, () => expireEarlierMessages(deps, messageDays))
    await expireMonths(deps, messageDays, signal)
  }
}
