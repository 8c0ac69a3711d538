import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Db, Pool } from '../db/connect.ts'
import type { BlobStore } from '../media/blobs/blob-store.ts'
import { discardFiles, hasDiscarded, removeDiscarded } from '../media/discarded/discarded-file-store.ts'
import { addressSecretOf } from '../media/signed-address.ts'
import { companyNotFound } from '../platform/errors.ts'
import { ensureServiceSecret } from '../secrets/secret-store.ts'
import type { Cipher } from '../secrets/secrets.ts'
import {
  advanceSequences,
  deleteRows,
  findMovingCompany,
  hasHashedOptOuts,
  hasIdAbove,
  insertRows,
  isBusy,
  listTransactions,
  makeMonthsOf,
  makePastDays,
  movedBlobsOf,
  movedRowsOf,
  schemaDigest,
  setLocked,
  setMediaSecret,
} from './move-store.ts'
import { createBlobs } from './moved-blobs.ts'
import { createInserts, MOVED_TABLES, recode } from './moved-rows.ts'
import {
  claimImport,
  discardLeftFiles,
  discardNotedFiles,
  forgetFiles,
  IMPORT_LEASE_SECONDS,
  type ImportClaim,
  noteFile,
  releaseImport,
  renewImport,
} from './moving-file-store.ts'
import {
  type Authenticator,
  createTransferFile,
  decryptWith,
  type Entry,
  FORMAT,
  FORMAT_VERSION,
  type Header,
  MoveRefused,
  readArchiveHeader,
  readKeys,
  readTransferFile,
  type TransferWriter,
  transferKeys,
} from './transfer-file.ts'

export type MoveDeps = {
  db: Pool
  cipher: Cipher
  blobStore: BlobStore
  /** The first key signs media addresses. */
  encryptionKeys: readonly string[]
  deliveryLogDays: number
}

/**
 * After this time, no transaction of a locked company can still succeed: processes cache locks for 3 s, statements
 * wait up to 5 s for a connection, and requests or sends slower than 3.5 s get 503.
 */
const CACHED_SECONDS = 8
const BUSY_LOOK_MS = 250
const BUSY_DEADLINE_MS = 120_000
const PIECE_BYTES = 48 * 1024
const RENEW_MS = 5_000
const CLAIM_LOOK_MS = 500
/** Shared sequences continue after a file's ids, so must neither run out nor exceed 2^53 (exact JSON numbers). */
const MAX_ID = 1_000_000_000_000_000

/**
 * Locks a company and exports it to a file (docs/scaling.md, Moving a company). Waits up to two minutes for running
 * work and transactions to end. Stays locked until `releaseCompany` or `unlockCompany`.
 */
export async function exportCompany(
  deps: MoveDeps,
  companyId: number,
  { file, passphrase, cachedSeconds = CACHED_SECONDS }: { file: string; passphrase: string; cachedSeconds?: number },
): Promise<{ companyId: number; lines: number }> {
  const company = await findMovingCompany(deps.db, companyId)
  if (company === undefined) throw companyNotFound()
  const salt = randomBytes(16).toString('base64')
  const { transfer, authenticator } = transferKeys(passphrase, salt)
  const writer = await createTransferFile(file, authenticator())
  await setLocked(deps.db, companyId, true)
  await untilQuiet(deps.db, companyId, cachedSeconds)
  const [key = ''] = deps.encryptionKeys
  const optOutKey = await ensureServiceSecret(deps.db, deps.cipher, 'opt-out key')
  await deps.db.begin('isolation level repeatable read read only', async (tx) => {
    await writer.write({
      format: FORMAT,
      version: FORMAT_VERSION,
      schema: await schemaDigest(tx),
      companyId,
      name: company.name,
      salt,
      mediaSecret: transfer.encrypt(addressSecretOf(key).toString('base64')),
      optOutKey: transfer.encrypt(optOutKey),
      hasHashedOptOuts: await hasHashedOptOuts(tx, companyId),
    })
    for (const table of MOVED_TABLES) {
      for await (const rows of movedRowsOf(tx, table, companyId)) {
        for (const row of rows) await writer.write({ table, row: recode(table, row, deps.cipher, transfer) })
      }
    }
  })
  // The company is locked and quiet, so no file can appear after its row was read.
  for await (const blobs of movedBlobsOf(deps.db, companyId)) {
    for (const { key: blob, mimeType } of blobs) await writeBlob(deps.blobStore, writer, blob, mimeType)
  }
  return { companyId, ...(await writer.close()) }
}

/** Order matters: no new work starts, then open transactions end, then the work they left ends. */
async function untilQuiet(db: Pool, companyId: number, cachedSeconds: number): Promise<void> {
  const endsAtMs = performance.now() + BUSY_DEADLINE_MS
  const until = async (isOver: () => Promise<boolean>) => {
    while (!(await isOver())) {
      if (performance.now() > endsAtMs)
        throw new MoveRefused('The company is still busy after 2 minutes: try again later')
      await sleep(BUSY_LOOK_MS)
    }
  }
  await sleep(cachedSeconds * 1000)
  const begun = await listTransactions(db)
  await until(async () => {
    const open = await listTransactions(db)
    return !begun.some((id) => open.includes(id))
  })
  await until(async () => !(await isBusy(db, companyId, cachedSeconds)))
}

async function writeBlob(store: BlobStore, writer: TransferWriter, blob: string, mimeType: string): Promise<void> {
  const bytes = await store.open(blob)
  if (bytes === undefined) return
  for await (const chunk of bytes) {
    const buffer = Buffer.from(chunk)
    for (let at = 0; at < buffer.length; at += PIECE_BYTES) {
      await writer.write({ blob, mimeType, piece: buffer.subarray(at, at + PIECE_BYTES).toString('base64') })
    }
  }
  await writer.write({ blob, mimeType, piece: '' })
}

/** Imports an exported company atomically and unlocks it. @throws {MoveRefused} */
export async function importCompany(
  deps: MoveDeps,
  { file, passphrase }: { file: string; passphrase: string },
): Promise<{ companyId: number; name: string }> {
  const { transfer, authenticator } = await readKeys(file, passphrase)
  await checkFile(file, authenticator)
  const entries = readTransferFile(file, authenticator())
  const header = await readArchiveHeader(entries)
  const mediaSecret = decryptWith(transfer, header.mediaSecret)
  await checkTarget(deps, header, transfer)
  const claim = await waitForClaim(deps.db, header.companyId)
  const renewing = setInterval(() => void renewImport(deps.db, claim).catch(() => {}), RENEW_MS)
  try {
    await deleteLeftFiles(deps, claim)
    await storeFiles(deps, header.companyId, readTransferFile(file, authenticator()))
    await deps.db.begin((tx) => insertCompany(tx, deps, claim, { entries, transfer, mediaSecret }))
  } catch (error) {
    clearInterval(renewing)
    await releaseImport(deps.db, claim)
    await discardLeftFiles(deps.db)
    await removeDiscarded(deps, NEVER, header.companyId).catch(() => {})
    if (error instanceof Error && 'code' in error && error.code === '23505') {
      throw new MoveRefused(`A key or number of the company exists here already: ${error.message}`)
    }
    throw error
  } finally {
    clearInterval(renewing)
  }
  return { companyId: header.companyId, name: header.name }
}

async function waitForClaim(db: Pool, companyId: number): Promise<ImportClaim> {
  const endsAtMs = performance.now() + IMPORT_LEASE_SECONDS * 1_000 + RENEW_MS
  for (;;) {
    const claim = await claimImport(db, companyId)
    if (claim !== undefined) return claim
    if (performance.now() > endsAtMs) throw new MoveRefused(`Another import of company ${companyId} runs`)
    await sleep(CLAIM_LOOK_MS)
  }
}

/** Must finish before the import: its files have the same names, so a later deletion would hit them. */
async function deleteLeftFiles(deps: MoveDeps, { companyId }: ImportClaim): Promise<void> {
  await discardNotedFiles(deps.db, companyId)
  await removeDiscarded(deps, NEVER, companyId)
  if (await hasDiscarded(deps.db, companyId)) {
    throw new MoveRefused('Earlier files of the company are still being deleted here: try again later')
  }
}

const NEVER = new AbortController().signal

/** Runs before the row transaction, which must not wait for media storage. */
async function storeFiles(deps: MoveDeps, companyId: number, entries: Entries): Promise<void> {
  const blobs = createBlobs(deps.blobStore, { companyId, note: (key) => noteFile(deps.db, companyId, key) })
  try {
    for await (const entry of entries) if ('blob' in entry) await blobs.add(entry)
  } finally {
    await blobs.abort()
  }
}

type Entries = AsyncGenerator<Header | Entry>
type Import = { entries: Entries; transfer: Cipher; mediaSecret: string }

/** Assigns every row to the company in the header, whatever the row contains. */
async function insertCompany(
  tx: Db,
  deps: MoveDeps,
  claim: ImportClaim,
  { entries, transfer, mediaSecret }: Import,
): Promise<void> {
  const { companyId } = claim
  await makePastDays(tx, deps.deliveryLogDays)
  const insert = createInserts(async (table, rows) => {
    if (table === 'messages' && !(await makeMonthsOf(tx, rows, MAX_ID))) throw idsTooHigh()
    await insertRows(tx, table, companyId, rows)
  })
  for await (const entry of entries) {
    if ('table' in entry) await insert.add(entry.table, recode(entry.table, entry.row, transfer, deps.cipher))
  }
  await insert.flush()
  await setMediaSecret(tx, companyId, deps.cipher.encrypt(mediaSecret))
  if (await hasIdAbove(tx, companyId, MAX_ID)) throw idsTooHigh()
  await advanceSequences(tx, companyId)
  await forgetFiles(tx, companyId)
  if (!(await releaseImport(tx, claim))) throw new MoveRefused('The import stood still for too long: start it again')
}

const idsTooHigh = () => new MoveRefused(`The file has ids above ${MAX_ID}`)

async function checkFile(file: string, authenticator: Authenticator): Promise<void> {
  for await (const _ of readTransferFile(file, authenticator()));
}

async function checkTarget(deps: MoveDeps, header: Header, transfer: Cipher): Promise<void> {
  if (header.schema !== (await schemaDigest(deps.db))) {
    throw new MoveRefused('The file is of another version of Parley: bring both installations to the same version')
  }
  const [existing] = await deps.db`select 1 from companies where id = ${header.companyId}`
  if (existing) throw new MoveRefused(`Company ${header.companyId} exists here already`)
  const optOutKey = await ensureServiceSecret(deps.db, deps.cipher, 'opt-out key')
  if (header.hasHashedOptOuts && decryptWith(transfer, header.optOutKey) !== optOutKey) {
    throw new MoveRefused(
      'The company has opt-outs of erased persons, whose hashes need the opt-out key of their installation',
    )
  }
}

export async function unlockCompany(deps: Pick<MoveDeps, 'db'>, companyId: number): Promise<void> {
  await requireLocked(deps.db, companyId)
  await setLocked(deps.db, companyId, false)
}

/** Deletes an exported company and its files. Can be repeated after a failure. */
export async function releaseCompany(deps: Pick<MoveDeps, 'db' | 'blobStore'>, companyId: number): Promise<void> {
  await requireLocked(deps.db, companyId)
  await deps.db.begin('isolation level repeatable read', async (tx) => {
    for await (const blobs of movedBlobsOf(tx, companyId)) {
      const keys = blobs.map(({ key }) => key)
      await discardFiles(tx, companyId, keys)
    }
  })
  await deps.db`delete from console_sessions where company_id = ${companyId}`
  await deps.db`delete from sign_in_links where company_id = ${companyId}`
  for (const table of MOVED_TABLES.toReversed()) await deleteRows(deps.db, table, companyId)
  // Files that cannot be deleted now stay queued.
  await removeDiscarded(deps, NEVER, companyId).catch(() => {})
}

async function requireLocked(db: Pool, companyId: number): Promise<void> {
  const company = await findMovingCompany(db, companyId)
  if (company === undefined) throw companyNotFound()
  if (!company.isLocked) throw new MoveRefused(`Company ${companyId} is not locked: export it first`)
}
