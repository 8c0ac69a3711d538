import {
  areOfExpiredMonths,
  deleteMessages,
  earlierMessages,
  expireStatusEvents,
} from '../../conversations/message-expiry-store.ts'
import { type Db, type Fragment, sql } from '../../db/connect.ts'
import { type AgingRows, type ExpiryBatch, findAged, haveAged, listCompaniesWith } from '../../db/lifetime-store.ts'
import { agedEmails, deleteEmails } from '../../emails/email-removal-store.ts'
import { deleteMedia, expireMedia } from '../../media/media-store.ts'
import { namePeopleOfEmails } from '../../webhooks/deliveries/erase-envelopes.ts'
import { forEach, GROUPS, inBatches, ROWS } from './in-batches.ts'

const COMPANIES = 100

/** Rows to delete company by company, since no index leads to them across companies. */
export type CompanyRows = {
  /** A condition on `company.id`. */
  readonly isDue: Fragment
  readonly batch: number
  expire(db: Db, companyId: number, batch: ExpiryBatch): Promise<number>
}

/** Deletes expired rows of up to 100 companies. */
export const expireOfCompanies = async (db: Db, rows: CompanyRows, signal: AbortSignal): Promise<void> =>
  forEach(
    await listCompaniesWith(db, rows.isDue, COMPANIES),
    (companyId) => inBatches(rows.batch, (batch) => rows.expire(db, companyId, batch), signal),
    signal,
  )

/** Their envelopes may outlive them, found by address. */
export const emailsAfter = (days: number): CompanyRows =>
  oldest(agedEmails(days), async (db, companyId, ids) => {
    await namePeopleOfEmails(db, companyId, ids)
    await deleteEmails(db, companyId, ids)
  })

/** Messages from before the months' partitions, with their files. */
export const earlierMessagesAfter = (days: number): CompanyRows =>
  oldest(earlierMessages(days), async (db, companyId, ids) => {
    await deleteMedia(db, companyId, sql`message_id = any (${[...ids]}::bigint[])`)
    await deleteMessages(db, companyId, ids)
  })

const oldest = (
  rows: AgingRows,
  remove: (db: Db, companyId: number, ids: readonly number[]) => Promise<void>,
): CompanyRows => ({
  isDue: haveAged(rows),
  batch: GROUPS,
  expire: async (db, companyId, batch) => {
    const ids = await findAged(db, companyId, rows, batch)
    if (ids.length > 0) await remove(db, companyId, ids)
    return ids.length
  },
})

export const mediaAfter = (days: number): CompanyRows => ({
  isDue: hasExpiredMonths(sql`media`, days),
  batch: GROUPS,
  expire: (db, companyId, batch) => expireMedia(db, companyId, areOfExpiredMonths(days), batch),
})

export const statusEventsAfter = (days: number): CompanyRows => ({
  isDue: hasExpiredMonths(sql`message_status_events`, days),
  batch: ROWS,
  expire: (db, companyId, batch) => expireStatusEvents(db, companyId, days, batch),
})

const hasExpiredMonths = (table: Fragment, days: number) =>
  sql`exists (select from ${table} as stored where stored.company_id = company.id and ${areOfExpiredMonths(days)})`
