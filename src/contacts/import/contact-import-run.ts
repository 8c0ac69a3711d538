import type { Readable } from 'node:stream'
import type { RecordEvents } from '../../changes/record-change.ts'
import type { Db, Pool } from '../../db/connect.ts'
import { isContention, isDatabaseDown } from '../../db/pool/failure.ts'
import type { BlobStore } from '../../media/blobs/blob-store.ts'
import type { ContactWrite } from '../../people/contact-record.ts'
import { rekeyMailboxes, type Twins } from '../../people/matching/mailbox.ts'
import { mapInStretches, monotonicMs } from '../../platform/clock.ts'
import { StorageFailure } from '../../platform/files/storage-failure.ts'
import { emailKey } from '../../platform/text/email-address.ts'
import { memberOf } from '../../platform/text/json-text.ts'
import { createConsentReader, NO_WORDS } from '../../platform/text/lists/consent-columns.ts'
import { BYTE_ORDER_MARK, parseCsvRow } from '../../platform/text/lists/csv.ts'
import { decodeBytes } from '../../platform/text/lists/encoding.ts'
import { encodingName, withoutBlank } from '../../platform/text/lists/list-scan.ts'
import { createRecordReader, type ListRecord } from '../../platform/text/lists/record-reader.ts'
import { done, isCausedByJob, JobError, retryAfter, type SingleKind } from '../../queue/job.ts'
import { enqueueJobs } from '../../queue/job-store.ts'
import { rowsAtOnce, waitForRows } from '../write/contact-change.ts'
import { createRowReader, lineToBody, type RowBody } from '../write/contact-columns.ts'
import { type PreparedRows, prepareRows, type RowOutcome, upsertRows } from '../write/contact-upsert.ts'
import { readContactRow, readPhoneRules } from '../write/contact-write.ts'
import {
  type ContactImport,
  discardListOf,
  endImport,
  type Refusal,
  recordImportProgress,
  type StartedImport,
  startImport,
} from './contact-import-store.ts'

const CONTACTS_IMPORT = 'contacts.import'
const MAX_ATTEMPTS = 10
const RETRY_MS = 1_000
/** Long imports yield to other companies after this time. */
const SLICE_MS = 10_000

export type ImportJobDeps = ImportRunDeps & {
  /** Called after each slice: `paused` if more rows follow, `gone` if the import had already ended. */
  onSlice(companyId: number, id: number, outcome: 'completed' | 'failed' | 'paused' | 'gone'): void
}

/** Enqueues an import job, in one lane per company so that imports run in order. */
export async function enqueueImport(tx: Db, companyId: number, importId: number): Promise<void> {
  const job = { kind: CONTACTS_IMPORT, lane: `company:${companyId}`, companyId, subjectId: importId, once: true }
  await enqueueJobs(tx, [job])
}

/** Runs imports. Ten failures caused by the list fail the import; other errors only delay it. */
export const importKind = (deps: ImportJobDeps): SingleKind => ({
  kind: CONTACTS_IMPORT,
  laneCap: 1,
  ordered: true,
  concurrency: 2,
  maxAttempts: MAX_ATTEMPTS,
  handle: async ({ companyId = 0, subjectId, attempts }, signal) => {
    const endsAtMs = monotonicMs() + SLICE_MS
    try {
      const pause = () => monotonicMs() > endsAtMs
      const outcome = await runImport(deps, companyId, subjectId, { signal, pause })
      deps.onSlice(companyId, subjectId, outcome)
      return outcome !== 'paused' ? done : retryAfter(0, { counts: false })
    } catch (error) {
      if (signal.aborted) throw error
      if (isContention(error) || isDatabaseDown(error) || error instanceof StorageFailure)
        return retryAfter(RETRY_MS, { counts: false })
      if (!isCausedByJob(error) || attempts + 1 < MAX_ATTEMPTS) throw error
      await abandonImport(deps, companyId, subjectId, error instanceof Error ? error.message : String(error))
      deps.onSlice(companyId, subjectId, 'failed')
      return done
    }
  },
})

type ImportRunDeps = {
  db: Pool
  blobStore: BlobStore
  sourceType: string
  recordEvents?: RecordEvents
  onProgress?: (companyId: number, id: number) => void
}

/**
 * Resumes an import. Rows and progress share a transaction, so each row is applied once, even after a crash. Returns
 * `paused` if `pause` returns true, `gone` if the import has ended. Throws if `signal` aborts.
 */
export async function runImport(
  deps: ImportRunDeps,
  companyId: number,
  id: number,
  { signal, pause = () => false }: { signal: AbortSignal; pause?: () => boolean },
): Promise<'completed' | 'paused' | 'gone'> {
  const started = await startImport(deps.db, companyId, id)
  if (started === undefined) return 'gone'
  let place: Place = { readBytes: started.readBytes, readLines: started.readLines }
  let writing: Promise<void> = Promise.resolve()
  const read = createRecordParser(started)
  for await (const records of readBatches(deps, companyId, started)) {
    await waitForRows(deps.db, companyId, records.length, { signal })
    const batch = await checkBatch(deps, companyId, started, read, records, place)
    await writing
    signal.throwIfAborted()
    if (pause()) return 'paused'
    writing = writeBatch(deps, companyId, started, batch, signal)
    // Awaited above or below; must not crash the process before.
    writing.catch(() => {})
    place = batch.to
  }
  await writing
  await endImport(deps.db, companyId, id, null)
  await discardListOf(deps.db, companyId, id)
  return 'completed'
}

/** Fails an import; written contacts stay. */
async function abandonImport(deps: ImportRunDeps, companyId: number, id: number, reason: string): Promise<void> {
  await endImport(deps.db, companyId, id, reason)
  await discardListOf(deps.db, companyId, id)
}

type Place = { readBytes: number; readLines: number }

async function* readBatches(
  { blobStore }: ImportRunDeps,
  companyId: number,
  started: StartedImport,
): AsyncGenerator<ListRecord[]> {
  if (started.readBytes >= started.sizeBytes) return
  const range = { start: started.readBytes, end: started.sizeBytes - 1 }
  const bytes: Readable | undefined = await blobStore.open(started.storageKey, range)
  if (bytes === undefined) throw new JobError('The list is not in the blob store')
  const delimiter = started.delimiter ?? ','
  const from = { byte: started.readBytes, line: started.readLines + 1 }
  const reader = createRecordReader(started.format === 'csv' ? delimiter : null, from)
  let waiting: ListRecord[] = []
  for await (const chunk of bytes) {
    waiting = [...waiting, ...withoutBlank(started.format, delimiter, reader.push(chunk))]
    while (waiting.length >= rowsAtOnce(companyId)) yield waiting.splice(0, rowsAtOnce(companyId))
  }
  waiting = [...waiting, ...withoutBlank(started.format, delimiter, reader.end())]
  while (waiting.length > 0) yield waiting.splice(0, rowsAtOnce(companyId))
}

type Row = {
  readonly line: number
  readonly fields: readonly string[]
  readonly write: ContactWrite
  readonly id?: number | undefined
}
type Batch = { from: Place; to: Place; rows: Row[]; prepared: PreparedRows; refusals: Refusal[] }

async function checkBatch(
  deps: ImportRunDeps,
  companyId: number,
  { defaultCountry }: ContactImport,
  read: ParseRecord,
  records: readonly ListRecord[],
  from: Place,
): Promise<Batch> {
  const parsed = await mapInStretches(records, (record) => ({ line: record.line, ...read(record) }))
  const bodies = parsed.map((row) => ('body' in row ? row.body : undefined))
  const phones = await readPhoneRules(deps.db, { companyId, defaultCountry }, bodies)
  const rows: Row[] = []
  const refusals: Refusal[] = []
  await mapInStretches(parsed, ({ line, fields, ...row }) => {
    const id = 'id' in row ? row.id : undefined
    const checked = 'reason' in row ? row : readContactRow(withoutOwnSource(deps, row.body), phones, id)
    const evidence = 'consent' in row ? row.consent : undefined
    if ('write' in checked) {
      rows.push({ line, fields, write: { ...checked.write, ...(evidence && { evidence }) }, id })
    } else refusals.push({ line, reason: checked.reason, fields })
  })
  const twins = await rekeyMailboxes(
    deps.db,
    companyId,
    rows.flatMap(({ write }) => (write.email ? [emailKey(write.email)] : [])),
  )
  const [shared, own] = [rows.filter(isOf(twins)), rows.filter((row) => !isOf(twins)(row))]
  refusals.push(...shared.map(({ line, fields }) => ({ line, fields, reason: 'email is the mailbox of two contacts' })))
  return { from, to: placeAfter(records, from), rows: own, prepared: await prepareRows(deps.db, own), refusals }
}

const isOf =
  (twins: readonly Twins[]) =>
  ({ write: { email } }: Row): boolean =>
    email != null && twins.some(({ key }) => key === emailKey(email))

function placeAfter(records: readonly ListRecord[], from: Place): Place {
  const last = records.at(-1)
  return last === undefined ? from : { readBytes: last.end, readLines: last.nextLine - 1 }
}

type ParseRecord = (record: ListRecord) => (RowBody | { reason: string }) & { fields: readonly string[] }

function createRecordParser({ format, columns, consentWords, ...list }: ContactImport): ParseRecord {
  const toBody = createRowReader(columns, createConsentReader(consentWords ?? NO_WORDS))
  const { delimiter, encoding } = { delimiter: list.delimiter ?? ',', encoding: list.encoding ?? 'utf-8' } as const
  return (record) => {
    if (record.isTooLong) return { reason: 'is too long', fields: [] }
    const text = decodeBytes(record.bytes, encoding)
    if (text === undefined) return { reason: `is not valid ${encodingName(encoding)}`, fields: [] }
    if (format === 'ndjson') return { ...lineToBody(withoutMark(text, record)), fields: [text] }
    const { fields, fault } = parseCsvRow(text, delimiter)
    return fault === undefined ? { ...toBody(fields), fields } : { reason: fault, fields }
  }
}

/** Lists from earlier versions still have their byte order mark. */
const withoutMark = (text: string, { line }: ListRecord): string =>
  line === 1 && text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text

/** Exports contain the service's own read-only `source_type`: ignored. */
function withoutOwnSource({ sourceType }: ImportRunDeps, body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body
  if (memberOf(body, 'source_type') !== sourceType) return body
  return Object.fromEntries(Object.entries(body).filter(([name]) => name !== 'source_type'))
}

async function writeBatch(
  deps: ImportRunDeps,
  companyId: number,
  started: ContactImport,
  batch: Batch,
  signal: AbortSignal,
): Promise<void> {
  const keep = async (tx: Db, outcomes: readonly RowOutcome[]) => {
    const count = (kind: string) => outcomes.filter((outcome) => outcome.kind === kind).length
    const refused = batch.rows.flatMap(({ line, fields }, place): Refusal[] => {
      const fault = outcomes[place]?.fault
      if (fault === undefined) return []
      return [{ line, fields, reason: fault.path === '' ? fault.message : `custom_fields ${fault.message}` }]
    })
    const isMine = await recordImportProgress(tx, companyId, started.id, {
      from: batch.from.readBytes,
      ...batch.to,
      created: count('created'),
      updated: count('updated'),
      unchanged: count('unchanged'),
      refusals: [...batch.refusals, ...refused].map(storable),
    })
    if (!isMine) throw new Error('Another process has continued this import')
  }
  await upsertRows(deps.db, companyId, batch.prepared, started.clientId, keep, { signal, events: deps.recordEvents })
  deps.onProgress?.(companyId, started.id)
}

/** PostgreSQL text cannot hold NUL. */
const storable = ({ line, reason, fields }: Refusal): Refusal => ({
  line,
  reason: reason.replaceAll('\0', '\uFFFD').toWellFormed(),
  fields: fields.map((field) => field.replaceAll('\0', '\uFFFD').toWellFormed()),
})
