import { discardLeftLists } from '../../contacts/import/contact-import.ts'
import { expireImports, expireRefusals } from '../../contacts/import/import-expiry-store.ts'
import type { Pool } from '../../db/connect.ts'
import { type ExpiryBatch, expireRows, listExpiring } from '../../db/lifetime-store.ts'
import type { BlobStore } from '../../media/blobs/blob-store.ts'
import { removeDiscarded } from '../../media/discarded/discarded-file-store.ts'
import { expireUploads } from '../../media/uploads/upload-store.ts'
import { discardLeftFiles } from '../../moves/moving-file-store.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Config } from '../../platform/settings/config.ts'
import { expireDailyLimitEntries } from '../../sends/batch/daily-limit-store.ts'
import { expireMonths } from './expire-messages.ts'
import {
  type CompanyRows,
  earlierMessagesAfter,
  emailsAfter,
  expireOfCompanies,
  mediaAfter,
  statusEventsAfter,
} from './expire-rows.ts'
import { GROUPS, inBatches, ROWS } from './in-batches.ts'

export type LifetimeDeps = {
  db: Pool
  blobStore: Pick<BlobStore, 'remove'>
  clock: Clock
  config: Pick<Config, 'messageDays' | 'emailDays' | 'deliveryLogDays'>
}

/** Can be repeated and run by several processes at once. */
type ExpiryStep = { name: string; everyMs: number; expire(signal: AbortSignal): Promise<unknown> }

const SWEEP_MS = 30_000
const FILES_MS = 5_000

/** Returns what deletes each kind of data once its lifetime is over (docs/operating.md: Lifetimes). */
export function listLifetimes({ db, blobStore, clock, config }: LifetimeDeps): ExpiryStep[] {
  const { messageDays, emailDays, deliveryLogDays } = config
  const sweep = (name: string, expire: ExpiryStep['expire']): ExpiryStep => ({ name, everyMs: SWEEP_MS, expire })
  const batches = (name: string, batch: number, remove: (batch: ExpiryBatch) => Promise<number>): ExpiryStep =>
    sweep(name, (signal) => inBatches(batch, remove, signal))
  const companies = (name: string, rows: CompanyRows): ExpiryStep =>
    sweep(name, (signal) => expireOfCompanies(db, rows, signal))
  return [
    ...listExpiring(config).map((one) => batches(one.table, one.batch ?? ROWS, (batch) => expireRows(db, one, batch))),
    batches('daily_limit_entries', GROUPS, ({ limit, skip }) => expireDailyLimitEntries(db, limit, clock.now(), skip)),
    batches('contact_import_refusals', ROWS, (batch) => expireRefusals(db, batch)),
    batches('contact_imports', ROWS, (batch) => expireImports(db, batch)),
    sweep('contact_lists', () => discardLeftLists(db)),
    batches('uploads', GROUPS, (batch) => expireUploads(db, batch)),
    sweep('moving_files', () => discardLeftFiles(db)),
    { name: 'discarded_files', everyMs: FILES_MS, expire: (signal) => removeDiscarded({ db, blobStore }, signal) },
    ...(emailDays === undefined ? [] : [companies('emails', emailsAfter(emailDays))]),
    ...(messageDays === undefined
      ? []
      : [
          companies('media', mediaAfter(messageDays)),
          companies('message_status_events_of_months', statusEventsAfter(messageDays)),
          companies('earlier_messages', earlierMessagesAfter(messageDays)),
          sweep('messages', (signal) => expireMonths(db, { messageDays, deliveryLogDays }, signal)),
        ]),
  ]
}
