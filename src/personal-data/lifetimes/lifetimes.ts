import { discardLeftLists } from '../../contacts/import/contact-import.ts'
import { expireImport, expireRefusals, listOldImports } from '../../contacts/import/import-expiry-store.ts'
import { expireMedia, expireStatusEvents, listCompaniesWithExpired } from '../../conversations/message-expiry-store.ts'
import type { Pool } from '../../db/connect.ts'
import { EXPIRING, envelopePeopleAfter, expireRows, reactionsAfter } from '../../db/lifetime-store.ts'
import { expireEmails, listCompaniesWithExpiredEmails } from '../../emails/email-removal-store.ts'
import type { BlobStore } from '../../media/blobs/blob-store.ts'
import { removeDiscarded } from '../../media/discarded/discarded-file-store.ts'
import { expireUploads } from '../../media/uploads/upload-store.ts'
import { discardLeftFiles } from '../../moves/moving-file-store.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Config } from '../../platform/settings/config.ts'
import { expireDailyLimitEntries } from '../../sends/batch/daily-limit-store.ts'
import { expireEarlierMessages, expireMonths } from './expire-messages.ts'
import { forEach, inBatches } from './in-batches.ts'

export type LifetimeDeps = {
  db: Pool
  blobStore: Pick<BlobStore, 'remove'>
  clock: Clock
  config: Pick<Config, 'messageDays' | 'emailDays' | 'deliveryLogDays'>
}

/** Can be repeated and run by several processes at once. */
type ExpiryStep = { name: string; everyMs: number; expire(signal: AbortSignal): Promise<unknown> }

/** Keeps a delete statement within milliseconds. */
const ROWS = 1_000
const GROUPS = 100
const SUBJECTS = 100
const SWEEP_MS = 30_000
const FILES_MS = 5_000

/** Returns what deletes each kind of data once its lifetime is over (docs/operating.md: Lifetimes). */
export function listLifetimes({ db, blobStore, clock, config }: LifetimeDeps): ExpiryStep[] {
  const { messageDays, emailDays, deliveryLogDays } = config
  const sweep = (name: string, expire: ExpiryStep['expire']): ExpiryStep => ({ name, everyMs: SWEEP_MS, expire })
  return [
    ...EXPIRING.map((one) =>
      sweep(one.table, (signal) => inBatches(one.batch ?? ROWS, (batch) => expireRows(db, one, batch), signal)),
    ),
    sweep('envelope_people', (signal) =>
      inBatches(ROWS, (batch) => expireRows(db, envelopePeopleAfter(deliveryLogDays), batch), signal),
    ),
    sweep('daily_limit_entries', (signal) =>
      inBatches(GROUPS, ({ limit, skip }) => expireDailyLimitEntries(db, limit, clock.now(), skip), signal),
    ),
    sweep('contact_imports', async (signal) =>
      forEach(
        await listOldImports(db, SUBJECTS),
        async (one) => {
          await inBatches(ROWS, (batch) => expireRefusals(db, one, batch), signal)
          await expireImport(db, one)
        },
        signal,
      ),
    ),
    sweep('contact_lists', () => discardLeftLists(db)),
    sweep('uploads', (signal) => inBatches(GROUPS, (batch) => expireUploads(db, batch), signal)),
    sweep('moving_files', () => discardLeftFiles(db)),
    { name: 'discarded_files', everyMs: FILES_MS, expire: (signal) => removeDiscarded({ db, blobStore }, signal) },
    ...(emailDays === undefined
      ? []
      : [
          sweep('emails', async (signal) =>
            forEach(
              await listCompaniesWithExpiredEmails(db, emailDays, SUBJECTS),
              (companyId) => inBatches(GROUPS, (batch) => expireEmails(db, companyId, emailDays, batch), signal),
              signal,
            ),
          ),
        ]),
    ...(messageDays === undefined
      ? []
      : [
          sweep('message_reactions', (signal) =>
            inBatches(ROWS, (batch) => expireRows(db, reactionsAfter(messageDays), batch), signal),
          ),
          sweep('media', async (signal) =>
            forEach(
              await listCompaniesWithExpired(db, 'media', messageDays, SUBJECTS),
              (companyId) => inBatches(GROUPS, (batch) => expireMedia(db, companyId, messageDays, batch), signal),
              signal,
            ),
          ),
          sweep('message_status_events_of_months', async (signal) =>
            forEach(
              await listCompaniesWithExpired(db, 'message_status_events', messageDays, SUBJECTS),
              (companyId) => inBatches(ROWS, (batch) => expireStatusEvents(db, companyId, messageDays, batch), signal),
              signal,
            ),
          ),
          sweep('earlier_messages', (signal) => expireEarlierMessages(db, messageDays, signal)),
          sweep('messages', (signal) => expireMonths(db, { messageDays, deliveryLogDays }, signal)),
        ]),
  ]
}
