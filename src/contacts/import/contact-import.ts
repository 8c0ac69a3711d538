import type { Readable } from 'node:stream'
import type { Db, Pool } from '../../db/connect.ts'
import { type BlobStore, newStorageKey } from '../../media/blobs/blob-store.ts'
import { TooLarge } from '../../media/measure.ts'
import { importNotFound, payloadTooLarge } from '../../platform/errors.ts'
import type { ListFormat } from '../../platform/text/lists/list-scan.ts'
import { enqueueImport } from './contact-import-job.ts'
import {
  type ContactImport,
  discardListOf,
  endCancelled,
  findImport,
  insertImport,
  lockReceiving,
  lockWaiting,
  queueImport,
  readImports,
  readLeftovers,
  readWaiting,
  removeImport,
  type TakenList,
} from './contact-import-store.ts'
import { createUploadReader, type ListOptions, refusedList, type UploadSummary } from './upload-reader.ts'

export const IMPORT_MAX_BYTES = 1024 * 1024 * 1024

export type ImportDeps = { db: Pool; blobStore: BlobStore }

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

/** The format of a list, and what its sender says about it. */
export type ListRequest = ListOptions & { readonly format: ListFormat }

type AlsoCommit = (tx: Db, receipt: ImportReceipt) => Promise<void>

/** Receives a list and queues its import: see `receiveList` and `queueList`. */
export async function receiveImport(
  deps: ImportDeps,
  companyId: number,
  request: ListRequest,
  body: Readable,
  clientId: string | null,
  alsoCommit?: AlsoCommit,
): Promise<ImportReceipt> {
  return queueList(deps, companyId, await receiveList(deps, companyId, request, body, clientId), alsoCommit)
}

/**
 * Stores a list of up to 1,000,000 rows. The caller queues or discards it; after a crash a sweep discards it.
 * 422 when its first line does not name the columns, when it has no row or too many, or when too many lists wait; 413
 * beyond 1 GiB. Nothing is stored then.
 */
export async function receiveList(
  deps: ImportDeps,
  companyId: number,
  request: ListRequest,
  body: Readable,
  clientId: string | null,
): Promise<ReceivedList> {
  checkWaiting(await readWaiting(deps.db, companyId), 0)
  const storageKey = newStorageKey(companyId)
  const id = await insertImport(deps.db, companyId, { format: request.format, storageKey, clientId })
  try {
    const list = await storeList(deps, storageKey, request, body)
    return { ...list, id, storageKey }
  } catch (error) {
    await discardList(deps, companyId, { id })
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
      await enqueueImport(tx, companyId, list.id)
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
    throw refusedList(`cannot wait: ${IMPORTS_MAX_WAITING} lists of the company wait already`)
  }
  if (waiting.bytes + newBytes > IMPORTS_MAX_WAITING_BYTES) {
    throw refusedList('cannot wait: the lists of the company that wait may have 2 GiB together')
  }
}

/**
 * Deletes a list that is not queued. A commit whose answer was lost may have queued it: the row shows it, once the
 * transaction that locks the row has ended. Otherwise the list stays.
 */
export async function discardList(
  { db }: Pick<ImportDeps, 'db'>,
  companyId: number,
  { id }: Pick<ReceivedList, 'id'>,
): Promise<void> {
  await db.begin(async (tx) => {
    if (await lockReceiving(tx, companyId, id)) await removeImport(tx, companyId, id)
  })
}

/** Stores the list in the blob store and checks it while it passes. */
async function storeList(
  { blobStore }: ImportDeps,
  storageKey: string,
  { format, ...options }: ListRequest,
  body: Readable,
): Promise<UploadSummary & { sizeBytes: number }> {
  const upload = createUploadReader(format, options)
  const meta = { mimeType: format === 'csv' ? 'text/csv' : 'application/x-ndjson', maxBytes: IMPORT_MAX_BYTES }
  body.on('error', (error) => upload.stream.destroy(error))
  body.on('close', () => {
    if (!body.readableEnded) upload.stream.destroy(new Error('The list broke off'))
  })
  const { sizeBytes } = await blobStore.put(storageKey, body.pipe(upload.stream), meta).catch((error) => {
    // The rest is read and dropped, since a client may read the answer only after it has sent its whole body.
    body.unpipe()
    body.resume()
    throw error instanceof TooLarge ? payloadTooLarge(IMPORT_MAX_BYTES) : error
  })
  return { ...upload.result(), sizeBytes }
}

const LEFTOVERS_AT_ONCE = 100

/** Discards lists that a killed process left, and what was recorded of those that never came in; returns how many. */
export async function discardLeftLists(db: Db): Promise<number> {
  const lists = await readLeftovers(db, LEFTOVERS_AT_ONCE)
  for (const { companyId, id, isReceiving } of lists) {
    if (isReceiving) await removeImport(db, companyId, id)
    else await discardListOf(db, companyId, id)
  }
  return lists.length
}

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
