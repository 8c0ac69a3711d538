import type { Readable } from 'node:stream'
import type { RecordEvents } from '../changes/record-change.ts'
import { listApiKeys, revokeAllApiKeys } from '../companies/api-key.ts'
import { type CompanyChange, getCompany, updateCompany } from '../companies/company.ts'
import { type Company, markCompanyRemoved } from '../companies/company-store.ts'
import type { ImportReceipt } from '../contacts/import/contact-import.ts'
import type { ContactImport } from '../contacts/import/contact-import-store.ts'
import type { ListRequest } from '../contacts/import/upload-reader.ts'
import type { Db, Pool } from '../db/connect.ts'
import type { SessionRole } from '../http/admission/role.ts'
import { retryFailed } from '../inbound/handling/unhandled/requeue.ts'
import type { CopyResult } from '../media/places/copy-files.ts'
import type { MoveDeps } from '../moves/move-company.ts'
import type { Clock } from '../platform/clock.ts'
import {
  companyNotFound,
  eventNotFound,
  jobNotFound,
  senderRecordNotFound,
  validationError,
} from '../platform/errors.ts'
import { parseId } from '../platform/ids.ts'
import type { EventReader } from '../providers/events/event-reader.ts'
import { companiesOfFailedJob, type FailedJob, listFailedJobs, retryJob } from '../queue/job-store.ts'
import { JOBS } from '../queue/job-table.ts'
import type { Cipher } from '../secrets/secrets.ts'
import type { SenderRecord } from '../senders/sender.ts'
import { removeAllSenders, type SenderAdminDeps } from '../senders/sender-admin.ts'
import { failAllScheduled } from '../sends/scheduled/scheduled-message.ts'
import { DELIVERIES } from '../webhooks/deliveries/delivery-store.ts'
import type { WebhookGuide } from './senders/sender-shape.ts'

export type ImportVerbs = {
  take(companyId: number, request: ListRequest, body: Readable): Promise<ImportReceipt>
  read(companyId: number, id: number): Promise<ContactImport>
  /** Processes imports until stopped. */
  work(): { stop(): Promise<void> }
}

export type NewConsoleLink = { name: string; role: SessionRole; path?: string }

export type OperatorDeps = SenderAdminDeps & {
  events: Pick<EventReader, 'routeKeys'>
  db: Pool
  clock: Clock
  cipher: Cipher
  recordEvents: RecordEvents
  imports: ImportVerbs
  apiKeyPrefix: string
  /** Default: the location in the settings. */
  copyMedia(to?: string): Promise<CopyResult>
  move: MoveDeps
  /** The link works once; null is for the operator. Undefined when the console is off. */
  createConsoleLink: ((companyId: number | null, link: NewConsoleLink) => Promise<string>) | undefined
  /** Must be called after a key change, to drop cached state. */
  onKeyChanged(clientId: string): void
  webhookGuide(sender: SenderRecord): WebhookGuide
  /** Wakes the event workers. */
  onEventsStored(): void
  syncTemplates(companyId: number): Promise<number>
}

/** Finds a company that is not removed; throws 404. */
export async function companyNamed(db: Db, text: string): Promise<Company> {
  const companyId = parseId(text)
  if (companyId === undefined) throw companyNotFound()
  return getCompany(db, companyId)
}

export const companyIdNamed = async (db: Db, text: string): Promise<number> => (await companyNamed(db, text)).id

/** Answers `Success` after the work. */
export async function succeed(work: Promise<void>): Promise<{ success: true }> {
  await work
  return { success: true }
}

/** Throws 404 for an invalid id. */
export function senderIdNamed(text: string): number {
  const senderId = parseId(text)
  if (senderId === undefined) throw senderRecordNotFound()
  return senderId
}

/** Changes a company and drops cached keys, which include its rate limit. */
export async function changeCompany(deps: OperatorDeps, companyId: number, change: CompanyChange): Promise<Company> {
  const company = await updateCompany(deps.db, companyId, change)
  for (const key of await listApiKeys(deps.db, companyId)) deps.onKeyChanged(key.clientId)
  return company
}

/**
 * Removes a company in one transaction: its keys stop working, its numbers become free, its jobs end; its data stays.
 * Waiting jobs are deleted when due (claimJobs); running ones must stop at the next lease renewal, within 10 s.
 */
export async function removeCompany(deps: OperatorDeps, companyId: number): Promise<void> {
  const clientIds = await deps.db.begin(async (tx) => {
    if (!(await markCompanyRemoved(tx, companyId))) throw companyNotFound()
    await removeAllSenders(tx, companyId)
    await failAllScheduled(tx, companyId)
    return revokeAllApiKeys(tx, companyId)
  })
  for (const clientId of clientIds) deps.onKeyChanged(clientId)
  deps.onSendersChanged(companyId)
}

/** Requeues a failed inbound event, and runs `then` in the same transaction; throws 404. */
export async function retryEvent(deps: OperatorDeps, text: string, then?: (tx: Db) => Promise<void>): Promise<void> {
  const id = parseId(text)
  if (id === undefined) throw eventNotFound()
  await deps.db.begin(async (tx) => {
    if (!(await retryFailed(deps, tx, id))) throw eventNotFound()
    await then?.(tx)
  })
  deps.onEventsStored()
}

export const MOST_JOBS_LISTED = 100

/** Delivery ids are longer than job ids, since they start with a day. */
const JOB_TABLES = [JOBS, DELIVERIES]

/** Lists up to 100 failed jobs and deliveries of all companies, latest first. */
export async function failedJobs(db: Pool): Promise<FailedJob[]> {
  const lists = await Promise.all(JOB_TABLES.map((table) => listFailedJobs(db, MOST_JOBS_LISTED, null, table)))
  const all = lists.flat().toSorted((a, b) => b.failedAt.getTime() - a.failedAt.getTime())
  return all.slice(0, MOST_JOBS_LISTED)
}

/**
 * Retries a failed job. Delivery ids may repeat between companies; then `company` is required.
 * @throws {AppError} 404 for an unknown id, 422 listing the companies with such a job
 */
export async function retryFailedJob({ db }: { db: Db }, text: string, company: string | undefined): Promise<void> {
  const id = parseId(text)
  if (id === undefined) throw jobNotFound()
  const companyId = company === undefined ? undefined : await companyIdNamed(db, company)
  const found = await findFailedJobs(db, id, companyId)
  const [job] = found
  if (job === undefined) throw jobNotFound()
  if (found.length > 1) throw jobOfSeveral(found.map((one) => one.companyId))
  if (!(await retryJob(db, job.companyId, id, job.table))) throw jobNotFound()
}

async function findFailedJobs(db: Db, id: number, companyId: number | undefined) {
  const lists = await Promise.all(
    JOB_TABLES.map(async (table) =>
      (await companiesOfFailedJob(db, id, table)).map((owner) => ({ companyId: owner, table })),
    ),
  )
  return lists.flat().filter((job) => companyId === undefined || job.companyId === companyId)
}

const jobOfSeveral = (companyIds: (number | null)[]) =>
  validationError([
    {
      path: 'companyId',
      message: `must be given: the companies ${companyIds.join(', ')} have a failed job with this id (--company on the command line)`,
    },
  ])
