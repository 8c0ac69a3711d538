import { createHmac, type Hmac, randomBytes, scryptSync } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Db, Pool } from '../db/connect.ts'
import { companyNotFound } from '../errors.ts'
import type { BlobStore } from '../media/blobs/blob-store.ts'
import { discardFiles, hasDiscarded } from '../media/discarded/discarded-file-store.ts'
import { removeDiscarded } from '../media/discarded/remove-discarded.ts'
import { addressSecretOf } from '../media/signed-address.ts'
import { ensureServiceSecret } from '../secrets/secret-store.ts'
import { type Cipher, createCipher } from '../secrets/secrets.ts'
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
  setClosed,
  setMediaSecret,
} from './move-store.ts'
import { createBlobs } from './moved-blobs.ts'
import { createInserts, recode } from './moved-rows.ts'
import { MOVED_TABLES } from './moved-tables.ts'
import { discardLeftFiles, forgetFiles, lockImport, noteFile } from './moving-file-store.ts'
import {
  createTransferFile,
  type Entry,
  FORMAT,
  FORMAT_VERSION,
  type Header,
  MoveRefused,
  readTransferFile,
  type TransferWriter,
} from './transfer-file.ts'

export type MoveDeps = {
  db: Pool
  cipher: Cipher
  blobStore: BlobStore
  /** The first one signs the addresses of media. */
  encryptionKeys: readonly string[]
  deliveryLogDays: number
}

const MIN_PASSPHRASE = 12
/**
 * After this time no process starts a transaction of a closed company whose caller gets a success: all cache for 3 s which
 * companies are closed, a statement waits at most 5 s for a connection, and a request or send whose statements take longer than
 * 3.5 s is answered 503.
 */
const CACHED_SECONDS = 8
const BUSY_LOOK_MS = 250
const BUSY_DEADLINE_MS = 120_000
const PIECE_BYTES = 48 * 1024
/**
 * The highest id of a row in a file. The sequences, which all companies share, go on after it: a file must not bring them to
 * their end, nor beyond 2^53, up to which JSON keeps numbers exactly.
 */
const MAX_ID = 1_000_000_000_000_000

/**
 * Closes a company and writes everything of it to a file (docs/scaling.md, Moving a company). It stays closed until
 * `releaseCompany` or `reopenCompany`. Waits until no process starts work of it any more, and until all transactions that began
 * before have ended; two minutes at most.
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
  await setClosed(deps.db, companyId, true)
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
    for await (const blobs of movedBlobsOf(tx, companyId)) {
      for (const { key: blob, mimeType } of blobs) await writeBlob(deps.blobStore, writer, blob, mimeType)
    }
  })
  return { companyId, ...(await writer.close()) }
}

/** In this order: no process starts new work, the transactions that are open then end, and the work that they left ends. */
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

/**
 * Reads a file of `exportCompany` into this installation, wholly or not at all; the company is open afterwards.
 *
 * @throws MoveRefused when the file, the passphrase or the schema does not fit, or the company or one of its numbers exists already
 */
export async function importCompany(
  deps: MoveDeps,
  { file, passphrase }: { file: string; passphrase: string },
): Promise<{ companyId: number; name: string }> {
  const { transfer, authenticator } = await readKeys(file, passphrase)
  await checkFile(file, authenticator)
  const entries = readTransferFile(file, authenticator())
  const header = await readHeader(entries)
  const mediaSecret = decryptWith(transfer, header.mediaSecret)
  await checkTarget(deps, header, transfer)
  await deleteLeftFiles(deps, header.companyId)
  try {
    await deps.db.begin((tx) => insertCompany(tx, deps, { header, entries, transfer, mediaSecret }))
  } catch (error) {
    await discardLeftFiles(deps.db)
    await removeDiscarded(deps, NEVER, header.companyId).catch(() => {})
    if (error instanceof Error && 'code' in error && error.code === '23505') {
      throw new MoveRefused(`A key or number of the company exists here already: ${error.message}`)
    }
    throw error
  }
  return { companyId: header.companyId, name: header.name }
}

/** The files of the archive get the names of earlier ones, whose deletion must not come later. */
async function deleteLeftFiles(deps: MoveDeps, companyId: number): Promise<void> {
  await discardLeftFiles(deps.db)
  await removeDiscarded(deps, NEVER, companyId)
  if (await hasDiscarded(deps.db, companyId)) {
    throw new MoveRefused('Earlier files of the company are still being deleted here: try again later')
  }
}

const NEVER = new AbortController().signal

type Import = { header: Header; entries: AsyncGenerator<Header | Entry>; transfer: Cipher; mediaSecret: string }

/** Writes the rows and stores the files of a company. Every row gets the company of the header, whatever company it names. */
async function insertCompany(
  tx: Db,
  deps: MoveDeps,
  { header: { companyId }, entries, transfer, mediaSecret }: Import,
): Promise<void> {
  if (!(await lockImport(tx, companyId))) throw new MoveRefused(`Another import of company ${companyId} runs`)
  await makePastDays(tx, deps.deliveryLogDays)
  const insert = createInserts(async (table, rows) => {
    if (table === 'messages' && !(await makeMonthsOf(tx, rows, MAX_ID))) throw idsTooHigh()
    await insertRows(tx, table, companyId, rows)
  })
  const blobs = createBlobs(deps.blobStore, { companyId, note: (key) => noteFile(deps.db, companyId, key) })
  try {
    for await (const entry of entries) {
      if ('table' in entry) await insert.add(entry.table, recode(entry.table, entry.row, transfer, deps.cipher))
      else if ('blob' in entry) await blobs.add(entry)
    }
  } finally {
    await blobs.abort()
  }
  await insert.flush()
  await setMediaSecret(tx, companyId, deps.cipher.encrypt(mediaSecret))
  if (await hasIdAbove(tx, companyId, MAX_ID)) throw idsTooHigh()
  await advanceSequences(tx, companyId)
  await forgetFiles(tx, companyId)
}

const idsTooHigh = () => new MoveRefused(`The file has ids above ${MAX_ID}`)

type Authenticator = () => Hmac

/**
 * The keys that the passphrase and the salt of the file make. The header is not authentic yet: nothing but its salt and a
 * secret, which shows whether the passphrase is right, is used.
 */
async function readKeys(file: string, passphrase: string): Promise<{ transfer: Cipher; authenticator: Authenticator }> {
  const entries = readTransferFile(file)
  const header = await readHeader(entries).finally(() => entries.return(undefined))
  const keys = transferKeys(passphrase, header.salt)
  decryptWith(keys.transfer, header.mediaSecret)
  return keys
}

/** Before anything is written, the whole file is read for its authentication code. */
async function checkFile(file: string, authenticator: Authenticator): Promise<void> {
  for await (const _ of readTransferFile(file, authenticator()));
}

async function readHeader(entries: AsyncGenerator<Header | Entry>): Promise<Header> {
  const first = (await entries.next()).value
  if (first === undefined || !('format' in first) || first.format !== FORMAT || typeof first.salt !== 'string') {
    throw new MoveRefused('The file is no export of a company')
  }
  if (first.version !== FORMAT_VERSION)
    throw new MoveRefused(`The file has version ${first.version} of the format, not ${FORMAT_VERSION}`)
  return first
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

function decryptWith(transfer: Cipher, sealed: string): string {
  try {
    return transfer.decrypt(sealed)
  } catch {
    throw new MoveRefused('The passphrase is wrong')
  }
}

/** Opens a company again that was exported: its waiting work continues. */
export async function reopenCompany(deps: Pick<MoveDeps, 'db'>, companyId: number): Promise<void> {
  await requireClosed(deps.db, companyId)
  await setClosed(deps.db, companyId, false)
}

/** Deletes a company that was exported, with its files. May be repeated after a fault. */
export async function releaseCompany(deps: Pick<MoveDeps, 'db' | 'blobStore'>, companyId: number): Promise<void> {
  await requireClosed(deps.db, companyId)
  await deps.db.begin('isolation level repeatable read', async (tx) => {
    for await (const blobs of movedBlobsOf(tx, companyId)) {
      const keys = blobs.map(({ key }) => key)
      await discardFiles(tx, companyId, keys)
    }
  })
  await deps.db`delete from console_sessions where company_id = ${companyId}`
  await deps.db`delete from sign_in_links where company_id = ${companyId}`
  for (const table of MOVED_TABLES.toReversed()) await deleteRows(deps.db, table, companyId)
  // What cannot be deleted now waits in the queue.
  await removeDiscarded(deps, NEVER, companyId).catch(() => {})
}

async function requireClosed(db: Pool, companyId: number): Promise<void> {
  const company = await findMovingCompany(db, companyId)
  if (company === undefined) throw companyNotFound()
  if (!company.isClosed) throw new MoveRefused(`Company ${companyId} is not closed: export it first`)
}

/** Two keys: one encrypts secrets, the other one authenticates the file. */
function transferKeys(passphrase: string, salt: string): { transfer: Cipher; authenticator: Authenticator } {
  if (passphrase.length < MIN_PASSPHRASE)
    throw new MoveRefused(`The passphrase needs at least ${MIN_PASSPHRASE} characters`)
  const keys = scryptSync(passphrase, Buffer.from(salt, 'base64'), 64)
  return {
    transfer: createCipher([keys.subarray(0, 32).toString('base64')]),
    authenticator: () => createHmac('sha256', keys.subarray(32)),
  }
}
