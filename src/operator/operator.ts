import type { Readable } from 'node:stream'
import type { RecordEvents } from '../changes/record-change.ts'
import { listApiKeys, revokeAllApiKeys } from '../companies/api-key.ts'
import { type CompanyChange, getCompany, updateCompany } from '../companies/company.ts'
import { type Company, markCompanyRemoved } from '../companies/company-store.ts'
import type { ImportReceipt, ListRequest } from '../contacts/import/contact-import.ts'
import type { ContactImport } from '../contacts/import/contact-import-store.ts'
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
import { DELIVERIES } from '../webhooks/deliveries/delivery-table.ts'
import type { WebhookGuide } from './senders/sender-shape.ts'

/** Lists of contacts, taken in and worked off. */
export type ImportVerbs = {
  take(companyId: number, request: ListRequest, body: Readable): Promise<ImportReceipt>
  read(companyId: number, id: number): Promise<ContactImport>
  /** Works imports off until it is stopped. */
  work(): { stop(): Promise<void> }
}

/** The person of a sign-in link, the role in a company, and the page that opens. */
export type NewConsoleLink = { name: string; role: SessionRole; path?: string }

/** The dependencies of the operator's functions, over HTTP and on the command line. */
export type OperatorDeps = SenderAdminDeps & {
  events: Pick<EventReader, 'routeKeys'>
  db: Pool
  clock: Clock
  cipher: Cipher
  recordEvents: RecordEvents
  imports: ImportVerbs
  apiKeyPrefix: string
  /** Copies all media to another place, by default the one that the settings name. */
  copyMedia(to?: string): Promise<CopyResult>
  /** To move companies between installations. */
  move: MoveDeps
  /**
   * Creates a link that signs in once, to the console of a company or as the operator (null); undefined when the console is
   * off.
   */
  createConsoleLink: ((companyId: number | null, link: NewConsoleLink) => Promise<string>) | undefined
  /** Makes the process forget what it remembers of a key. */
  onKeyChanged(clientId: string): void
  /** Where the events of a sender have to come, and what to enter at its provider. */
  webhookGuide(sender: SenderRecord): WebhookGuide
  /** Says that inbound events are there to be handled. */
  onEventsStored(): void
  /** Reads the templates of the company's accounts from their providers; answers how many there are. */
  syncTemplates(companyId: number): Promise<number>
}

/** The living company that a path or a command names. 404 when there is none. */
export async function companyNamed(db: Db, text: string): Promise<Company> {
  const companyId = parseId(text)
  if (companyId === undefined) throw companyNotFound()
  return getCompany(db, companyId)
}

/** The id of a sender that a path or a command names; 404 for a text that is no id. */
export function senderIdNamed(text: string): number {
  const senderId = parseId(text)
  if (senderId === undefined) throw senderRecordNotFound()
  return senderId
}

/** Changes a company; its keys carry its rate limit, so what is remembered of them is forgotten. */
export async function changeCompany(deps: OperatorDeps, companyId: number, change: CompanyChange): Promise<Company> {
  const company = await updateCompany(deps.db, companyId, change)
  for (const key of await listApiKeys(deps.db, companyId)) deps.onKeyChanged(key.clientId)
  return company
}

/**
 * Removes a company: its keys stop working, its numbers are free for others, and its background jobs end; its data stays.
 * All of it happens or nothing does. 404 when there is no such company. Jobs that wait are deleted when they come due (see claimJobs), jobs that run stop at
 * the next renewal of their lease, within 10 s.
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

/** Requeues a failed inbound event, and runs `then` in the same transaction. 404 when there is none with this id. */
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

/** An id is a job's or a delivery's: those of deliveries start with a day, and are longer. */
const JOB_TABLES = [JOBS, DELIVERIES]

/** Failed jobs of all companies, deliveries among them, the latest first; at most 100. */
export async function failedJobs(db: Pool): Promise<FailedJob[]> {
  const lists = await Promise.all(JOB_TABLES.map((table) => listFailedJobs(db, MOST_JOBS_LISTED, null, table)))
  const all = lists.flat().toSorted((a, b) => b.failedAt.getTime() - a.failedAt.getTime())
  return all.slice(0, MOST_JOBS_LISTED)
}

/**
 * Starts a failed job of a company again. Without a company the id has to be that of one job: ids of deliveries may be known in
 * several companies.
 * @throws {AppError} 404 for an id that names no failed job, 422 naming the companies that have one
 */
export async function retryFailedJob({ db }: { db: Db }, text: string, company: string | undefined): Promise<void> {
  const id = parseId(text)
  if (id === undefined) throw jobNotFound()
  const companyId = company === undefined ? undefined : (await companyNamed(db, company)).id
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
