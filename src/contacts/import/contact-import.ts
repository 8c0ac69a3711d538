import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { type Readable, Transform } from 'node:stream'
import type { Db, Pool } from '../../db/connect.ts'
import { type FieldFault, importNotFound, payloadTooLarge, validationError } from '../../errors.ts'
import { type BlobStore, newStorageKey } from '../../media/blob-store.ts'
import { TooLarge } from '../../media/measure.ts'
import { parseJsonText } from '../../text/json-text.ts'
import { readHeader, toColumn } from '../contact-columns.ts'
import type { ListFormat } from '../export/contact-export.ts'
import {
  type ContactImport,
  endCancelled,
  findImport,
  insertImport,
  lockReceiving,
  lockWaiting,
  queueImport,
  type Refusal,
  readImports,
  readLeftovers,
  readRefusals,
  readWaiting,
  recordListGone,
  removeImport,
  type TakenList,
} from './contact-import-store.ts'
import { isBlankRow, parseCsvRow, toCsvRow } from './csv.ts'
import { createRecordReader, type ListRecord, type RecordReader } from './record-reader.ts'

export const IMPORT_MAX_ROWS = 1_000_000
export const IMPORT_MAX_BYTES = 1024 * 1024 * 1024

/** Enqueues the job of an import, in the transaction that records it. */
export type EnqueueImport = (tx: Db, companyId: number, importId: number) => Promise<void>

export type ImportDeps = { db: Pool; blobStore: BlobStore; enqueue: EnqueueImport }

/** Lists of one company that may wait, and their bytes. */
export const IMPORTS_MAX_WAITING = 10
const IMPORTS_MAX_WAITING_BYTES = 2 * 1024 * 1024 * 1024

export type ImportReceipt = { readonly started: ContactImport; readonly ignored: readonly string[] }

/** A list that is stored and not queued yet. */
export type ReceivedList = TakenList & {
  readonly id: number
  readonly storageKey: string
  readonly ignored: readonly string[]
  /** SHA-256 of its bytes. */
  readonly digest: Buffer
}

type AlsoCommit = (tx: Db, receipt: ImportReceipt) => Promise<void>

/** Receives a list and queues its import: see `receiveList` and `queueList`. */
export async function receiveImport(
  deps: ImportDeps,
  companyId: number,
  format: ListFormat,
  body: Readable,
  clientId: string | null,
  alsoCommit?: AlsoCommit,
): Promise<ImportReceipt> {
  return queueList(deps, companyId, await receiveList(deps, companyId, format, body, clientId), alsoCommit)
}

/**
 * Stores a list of up to 1,000,000 rows. The caller queues or discards it; after a crash a sweep discards it.
 * 422 when its first line does not name the columns, when it has no row or too many, or when too many lists wait; 413
 * beyond 1 GiB. Nothing is stored then.
 */
export async function receiveList(
  deps: ImportDeps,
  companyId: number,
  format: ListFormat,
  body: Readable,
  clientId: string | null,
): Promise<ReceivedList> {
  checkWaiting(await readWaiting(deps.db, companyId), 0)
  const storageKey = newStorageKey(companyId)
  const id = await insertImport(deps.db, companyId, { format, storageKey, clientId })
  try {
    const { head, ...list } = await storeList(deps, storageKey, format, body)
    return { ...list, ...head, id, storageKey }
  } catch (error) {
    await discardList(deps, companyId, { id, storageKey })
    throw error
  }
}

/**
 * Queues the import of a received list: when this resolves, the list survives everything. Nothing is kept when it throws,
 * nor when `alsoCommit` throws, which runs in the transaction that queues the import. 422 when too many lists wait.
 */
export async function queueList(
  deps: ImportDeps,
  companyId: number,
  list: ReceivedList,
  alsoCommit: AlsoCommit = async () => {},
): Promise<ImportReceipt> {
  try {
    return await deps.db.begin(async (tx) => {
      await lockWaiting(tx, companyId)
      checkWaiting(await readWaiting(tx, companyId, list.id), list.sizeBytes)
      const receipt = { started: await queueImport(tx, companyId, list.id, list), ignored: list.ignored }
      await deps.enqueue(tx, companyId, list.id)
      await alsoCommit(tx, receipt)
      return receipt
    })
  } catch (error) {
    await discardList(deps, companyId, list)
    throw error
  }
}

function checkWaiting(waiting: { lists: number; bytes: number }, newBytes: number): void {
  if (waiting.lists >= IMPORTS_MAX_WAITING) {
    throw refused(`cannot wait: ${IMPORTS_MAX_WAITING} lists of the company wait already`)
  }
  if (waiting.bytes + newBytes > IMPORTS_MAX_WAITING_BYTES) {
    throw refused('cannot wait: the lists of the company that wait may have 2 GiB together')
  }
}

/**
 * Deletes a list that is not queued. A commit whose answer was lost may have queued it: the row tells, once the
 * transaction that holds it has ended. Otherwise the list stays.
 */
export async function discardList(
  { db, blobStore }: Pick<ImportDeps, 'db' | 'blobStore'>,
  companyId: number,
  { id, storageKey }: Pick<ReceivedList, 'id' | 'storageKey'>,
): Promise<void> {
  await db.begin(async (tx) => {
    if (!(await lockReceiving(tx, companyId, id))) return
    await blobStore.remove(storageKey)
    await removeImport(tx, companyId, id)
  })
}

/** Stores the list in the blob store and checks it while it passes. */
async function storeList(
  { blobStore }: ImportDeps,
  storageKey: string,
  format: ListFormat,
  body: Readable,
): Promise<UploadSummary & { sizeBytes: number }> {
  const upload = createUploadReader(format)
  const meta = { mimeType: format === 'csv' ? 'text/csv' : 'application/x-ndjson', maxBytes: IMPORT_MAX_BYTES }
  body.on('error', (error) => upload.stream.destroy(error))
  body.on('close', () => {
    if (!body.readableEnded) upload.stream.destroy(new Error('The list broke off'))
  })
  const { sizeBytes } = await blobStore.put(storageKey, body.pipe(upload.stream), meta).catch((error) => {
    // The rest is read and forgotten, so that the answer is heard.
    body.unpipe()
    body.resume()
    throw error instanceof TooLarge ? payloadTooLarge(IMPORT_MAX_BYTES) : error
  })
  return { ...upload.result(), sizeBytes }
}

const LEFTOVERS_AT_ONCE = 100

/** Takes lists out of the blob store that a killed process left there, and what was recorded of those that never came in. */
export async function sweepLists({ db, blobStore }: Pick<ImportDeps, 'db' | 'blobStore'>): Promise<void> {
  for (const { companyId, id, storageKey, isReceiving } of await readLeftovers(db, LEFTOVERS_AT_ONCE)) {
    await blobStore.remove(storageKey)
    if (isReceiving) await removeImport(db, companyId, id)
    else await recordListGone(db, companyId, id)
  }
}

type Head = { readBytes: number; readLines: number }
type Header = { columns: readonly string[]; ignored: readonly string[]; head: Head }
type UploadSummary = Header & { rows: number; digest: Buffer }

/** Looks at a list on its way into the blob store: its header, and how many rows it has. */
function createUploadReader(format: ListFormat): { stream: Transform; result: () => UploadSummary } {
  const reader: RecordReader = createRecordReader(format === 'csv')
  let header: (Header & { fault?: string }) | undefined
  const hash = createHash('sha256')
  let rows = 0
  const take = (all: readonly ListRecord[]): void => {
    const records = withoutBlank(format, all)
    rows += records.length
    if (format === 'csv' && header === undefined && records[0] !== undefined) header = toHead(records[0])
    const inHeader = format === 'csv' ? 1 : 0
    if (rows > IMPORT_MAX_ROWS + inHeader) throw refused(`must have at most ${IMPORT_MAX_ROWS} rows`)
    if (header?.fault !== undefined) throw refused(`must begin with a line that names its columns: ${header.fault}`)
  }
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk)
      done(
        attempt(() => take(reader.push(chunk))),
        chunk,
      )
    },
    flush(done) {
      done(attempt(() => take(reader.end())))
    },
  })
  const result = (): UploadSummary => {
    const { columns, ignored, head } = header ?? { columns: [], ignored: [], head: { readBytes: 0, readLines: 0 } }
    const count = rows - (format === 'csv' ? 1 : 0)
    if (count < 1) throw refused('must have at least one row')
    return { columns, ignored, head, rows: count, digest: hash.digest() }
  }
  return { stream, result }
}

/** Rows whose cells are all empty are no rows of a list. */
export const withoutBlank = (format: ListFormat, records: readonly ListRecord[]): readonly ListRecord[] =>
  format === 'csv' ? records.filter(({ bytes, isTooLong }) => isTooLong || !isBlankRow(bytes)) : records

function attempt(act: () => void): Error | null {
  try {
    act()
    return null
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

function toHead(record: ListRecord): Header & { fault?: string } {
  const head = { readBytes: record.end, readLines: record.nextLine - 1 }
  if (record.isTooLong || !isUtf8(record.bytes)) {
    return { columns: [], ignored: [], head, fault: record.isTooLong ? 'it is too long' : 'it is not UTF-8' }
  }
  const { fields, fault } = parseCsvRow(decodeRecord(record))
  const columns = fields.map(toColumn)
  const unstorable = columns.some((column) => column.includes('\0')) ? 'a column has NUL in its name' : undefined
  const { ignored, fault: headerFault } = readHeader(columns)
  const wrong = fault ?? unstorable ?? headerFault
  return { columns, ignored, head, ...(wrong !== undefined && { fault: wrong }) }
}

const BYTE_ORDER_MARK = '\uFEFF'

/** The text of a record, without the mark that some programs put before the first. */
export const decodeRecord = (record: ListRecord): string => {
  const text = record.bytes.toString('utf8')
  return record.line === 1 && text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
}

const refused = (message: string) =>
  validationError([{ path: '', message } satisfies FieldFault], `The list ${message}`)

/** How far an import is; 404 `Import not found`. */
export async function getImport(db: Db, companyId: number, id: number): Promise<ContactImport> {
  const found = await findImport(db, companyId, id)
  if (found === undefined) throw importNotFound()
  return found
}

/** Imports with a lower id than `before`, newest first. */
export const listImports = (db: Db, companyId: number, before: number | undefined, limit: number) =>
  readImports(db, companyId, before ?? Number.MAX_SAFE_INTEGER, limit)

/** Ends an import that is not over: rows that are imported stay. 404 `Import not found`. */
export async function cancelImport(db: Db, companyId: number, id: number): Promise<void> {
  if (!(await endCancelled(db, companyId, id))) await getImport(db, companyId, id)
}

const REFUSALS_AT_ONCE = 1_000

/**
 * The refused rows in the format of the list, in parts: CSV with line and reason before the row as it came, or its object
 * with `line` and `reason` at its end. The import passes both over.
 */
export async function* writeRefused(db: Db, companyId: number, given: ContactImport): AsyncGenerator<string> {
  const isCsv = given.format === 'csv'
  if (isCsv) yield toCsvRow(['line', 'reason', ...given.columns])
  for (let after = 0; ; ) {
    const refusals = await readRefusals(db, companyId, given.id, after, REFUSALS_AT_ONCE)
    if (refusals.length > 0) yield refusals.map(isCsv ? toRefusedRow : toRefusedLine).join('')
    const last = refusals.at(-1)
    if (last === undefined || refusals.length < REFUSALS_AT_ONCE) return
    after = last.line
  }
}

const toRefusedRow = ({ line, reason, fields }: Refusal): string => toCsvRow([String(line), reason, ...fields])

function toRefusedLine({ line, reason, fields: [text = ''] }: Refusal): string {
  const members = membersOf(text) ?? [['row', text]]
  const others = members.filter(([name]) => name !== 'line' && name !== 'reason')
  return `${JSON.stringify(Object.fromEntries([...others, ['line', line], ['reason', reason]]))}\n`
}

function membersOf(text: string): [string, unknown][] | undefined {
  try {
    const value = parseJsonText(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : undefined
  } catch {
    return undefined
  }
}
