import type { Readable } from 'node:stream'
import type { Db, Pool } from '../../db/connect.ts'
import { type BlobStore, newStorageKey } from '../../media/blobs/blob-store.ts'
import { TooLarge } from '../../media/measure.ts'
import { importNotFound, payloadTooLarge } from '../../platform/errors.ts'
import { enqueueImport } from './contact-import-run.ts'
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
import { createUploadReader, type ListRequest, refusedList, type UploadSummary } from './upload-reader.ts'

const IMPORT_MAX_BYTES = 1024 * 1024 * 1024

export type ImportDeps = { db: Pool; blobStore: BlobStore }

const IMPORTS_MAX_WAITING = 10
const IMPORTS_MAX_WAITING_BYTES = 2 * 1024 * 1024 * 1024

export type ImportReceipt = { readonly started: ContactImport; readonly ignored: readonly string[] }

export type ReceivedList = TakenList & {
  readonly id: number
  readonly storageKey: string
  readonly ignored: readonly string[]
  readonly digest: Buffer
}

type AlsoCommit = (tx: Db, receipt: ImportReceipt) => Promise<void>

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
 * Stores a list; the caller must queue or discard it. Throws 422 for a missing header, no rows, over 1,000,000 rows or
 * too many waiting lists; 413 over 1 GiB.
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

/** Queues a received list durably, with `alsoCommit`, or discards it on errors. Throws 422 if too many wait. */
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

/** Deletes an unqueued list. A commit with a lost reply may have queued it: the row lock waits for that transaction. */
export async function discardList(
  { db }: Pick<ImportDeps, 'db'>,
  companyId: number,
  { id }: Pick<ReceivedList, 'id'>,
): Promise<void> {
  await db.begin(async (tx) => {
    if (await lockReceiving(tx, companyId, id)) await removeImport(tx, companyId, id)
  })
}

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
    if (!body.readableEnded) upload.stream.destroy(new Error('The list upload was aborted'))
  })
  const { sizeBytes } = await blobStore.put(storageKey, body.pipe(upload.stream), meta).catch((error) => {
    // Drains the body, since clients may read the reply only after sending it all.
    body.unpipe()
    body.resume()
    throw error instanceof TooLarge ? payloadTooLarge(IMPORT_MAX_BYTES) : error
  })
  return { ...upload.result(), sizeBytes }
}

const LEFTOVERS_AT_ONCE = 100

/** Discards lists left by killed processes; returns the count. */
export async function discardLeftLists(db: Db): Promise<number> {
  const lists = await readLeftovers(db, LEFTOVERS_AT_ONCE)
  for (const { companyId, id, isReceiving } of lists) {
    if (isReceiving) await removeImport(db, companyId, id)
    else await discardListOf(db, companyId, id)
  }
  return lists.length
}

/** Returns an import. Throws 404 `Import not found`. */
export async function getImport(db: Db, companyId: number, id: number): Promise<ContactImport> {
  const found = await findImport(db, companyId, id)
  if (found === undefined) throw importNotFound()
  return found
}

export const listImports = (db: Db, companyId: number, before: number | undefined, limit: number) =>
  readImports(db, companyId, before ?? Number.MAX_SAFE_INTEGER, limit)

/** Cancels an import; imported rows stay. Throws 404 `Import not found`. */
export async function cancelImport(db: Db, companyId: number, id: number): Promise<void> {
  if (!(await endCancelled(db, companyId, id))) await getImport(db, companyId, id)
}
