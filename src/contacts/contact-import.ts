import { isUtf8 } from 'node:buffer'
import { type Readable, Transform } from 'node:stream'
import type { Db, Pool } from '../db/connect.ts'
import { type FieldFault, importNotFound, payloadTooLarge, validationError } from '../errors.ts'
import { TooLarge } from '../media/measure.ts'
import { newStorageKey, type Vault } from '../media/vault.ts'
import { readHeader, toColumn } from './contact-columns.ts'
import type { ListFormat } from './contact-export.ts'
import {
  type ContactImport,
  findImport,
  insertImport,
  queueImport,
  readLeftovers,
  readRefusals,
  recordListGone,
  removeImport,
} from './contact-import-store.ts'
import { parseCsvRow, toCsvRow } from './csv.ts'
import { createRecordReader, type ListRecord, type RecordReader } from './record-reader.ts'

export const IMPORT_MAX_ROWS = 1_000_000
export const IMPORT_MAX_BYTES = 1024 * 1024 * 1024

/** Puts up the job that works an import off, in the transaction that records it. */
export type EnqueueImport = (tx: Db, companyId: number, importId: number) => Promise<void>

export type ImportDeps = { db: Pool; vault: Vault; enqueue: EnqueueImport }

export type ImportReceipt = { readonly started: ContactImport; readonly ignored: readonly string[] }

/**
 * Takes a list of up to 1,000,000 rows in and puts it up to be worked off: when this resolves, the list is kept and
 * survives everything. 422 when its first line does not name the columns, when it has no row or too many; 413 beyond
 * 1 GiB. Nothing is kept then, nor when `alsoCommit` throws, which runs in the transaction that queues the import.
 */
export async function takeImport(
  deps: ImportDeps,
  companyId: number,
  format: ListFormat,
  body: Readable,
  clientId: string | null,
  alsoCommit: (tx: Db, receipt: ImportReceipt) => Promise<void> = async () => {},
): Promise<ImportReceipt> {
  const storageKey = newStorageKey(companyId)
  const id = await insertImport(deps.db, companyId, { format, storageKey, clientId })
  try {
    const { columns, ignored, rows, head, sizeBytes } = await keepList(deps, storageKey, format, body)
    const received = await deps.db.begin(async (tx) => {
      const queued = await queueImport(tx, companyId, id, { columns, sizeBytes, rows, ...head })
      await deps.enqueue(tx, companyId, id)
      const receipt = { started: queued, ignored }
      await alsoCommit(tx, receipt)
      return receipt
    })
    return received
  } catch (error) {
    await deps.vault.remove(storageKey)
    await removeImport(deps.db, companyId, id)
    throw error
  }
}

/** Puts the list into the vault and looks at it on its way. */
async function keepList(
  { vault }: ImportDeps,
  storageKey: string,
  format: ListFormat,
  body: Readable,
): Promise<Survey & { sizeBytes: number }> {
  const survey = createSurvey(format)
  const meta = { mimeType: format === 'csv' ? 'text/csv' : 'application/x-ndjson', maxBytes: IMPORT_MAX_BYTES }
  body.on('error', (error) => survey.stream.destroy(error))
  body.on('close', () => {
    if (!body.readableEnded) survey.stream.destroy(new Error('The list broke off'))
  })
  const { sizeBytes } = await vault.put(storageKey, body.pipe(survey.stream), meta).catch((error) => {
    // The rest is read and forgotten, so that the answer is heard.
    body.unpipe()
    body.resume()
    throw error instanceof TooLarge ? payloadTooLarge(IMPORT_MAX_BYTES) : error
  })
  return { ...survey.result(), sizeBytes }
}

const LEFTOVERS_AT_ONCE = 100

/** Takes lists out of the vault that a killed process left there, and what was recorded of those that never came in. */
export async function sweepLists({ db, vault }: Pick<ImportDeps, 'db' | 'vault'>): Promise<void> {
  for (const { companyId, id, storageKey, isReceiving } of await readLeftovers(db, LEFTOVERS_AT_ONCE)) {
    await vault.remove(storageKey)
    if (isReceiving) await removeImport(db, companyId, id)
    else await recordListGone(db, companyId, id)
  }
}

type Head = { readBytes: number; readLines: number }
type Survey = { columns: readonly string[]; ignored: readonly string[]; rows: number; head: Head }

/** Looks at a list on its way into the vault: its header, and how many rows it has. */
function createSurvey(format: ListFormat): { stream: Transform; result: () => Survey } {
  const reader: RecordReader = createRecordReader(format === 'csv')
  let header: (Survey & { fault?: string }) | undefined
  let rows = 0
  const take = (records: readonly ListRecord[]): void => {
    rows += records.length
    if (format === 'csv' && header === undefined && records[0] !== undefined) header = toHead(records[0])
    const inHeader = format === 'csv' ? 1 : 0
    if (rows > IMPORT_MAX_ROWS + inHeader) throw refused(`must have at most ${IMPORT_MAX_ROWS} rows`)
    if (header?.fault !== undefined) throw refused(header.fault)
  }
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      done(
        attempt(() => take(reader.push(chunk))),
        chunk,
      )
    },
    flush(done) {
      done(attempt(() => take(reader.end())))
    },
  })
  const result = (): Survey => {
    const found = header ?? { columns: [], ignored: [], rows: 0, head: { readBytes: 0, readLines: 0 } }
    const count = rows - (format === 'csv' ? 1 : 0)
    if (count < 1) throw refused('must have at least one row')
    return { columns: found.columns, ignored: found.ignored, head: found.head, rows: count }
  }
  return { stream, result }
}

function attempt(act: () => void): Error | null {
  try {
    act()
    return null
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

function toHead(record: ListRecord): Survey & { fault?: string } {
  const head = { readBytes: record.end, readLines: record.nextLine - 1 }
  if (record.isTooLong || !isUtf8(record.bytes)) {
    return { columns: [], ignored: [], rows: 0, head, fault: 'the first line must name the columns, in UTF-8' }
  }
  const { fields, fault } = parseCsvRow(toText(record))
  const columns = fields.map(toColumn)
  const unstorable = columns.some((column) => column.includes('\0')) ? 'a column has NUL in its name' : undefined
  const { ignored, fault: headerFault } = readHeader(columns)
  const wrong = fault ?? unstorable ?? headerFault
  return { columns, ignored, rows: 0, head, ...(wrong !== undefined && { fault: wrong }) }
}

const BYTE_ORDER_MARK = '\uFEFF'

/** The text of a record, without the mark that some programs put before the first. */
export const toText = (record: ListRecord): string => {
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

const REFUSALS_AT_ONCE = 1_000

/** The refused rows as CSV, in parts: line and reason, then the row as it came. */
export async function* writeRefused(db: Db, companyId: number, given: ContactImport): AsyncGenerator<string> {
  yield toCsvRow(['line', 'reason', ...(given.format === 'csv' ? given.columns : ['row'])])
  for (let after = 0; ; ) {
    const refusals = await readRefusals(db, companyId, given.id, after, REFUSALS_AT_ONCE)
    if (refusals.length > 0) {
      yield refusals.map(({ line, reason, fields }) => toCsvRow([String(line), reason, ...fields])).join('')
    }
    const last = refusals.at(-1)
    if (last === undefined || refusals.length < REFUSALS_AT_ONCE) return
    after = last.line
  }
}
