import { randomBytes } from 'node:crypto'
import type { Db } from '../db/connect.ts'
import { inputRows } from '../db/input-rows.ts'
import { TABLES } from '../db/tables.ts'
import { StartError } from '../platform/start-error.ts'
import type { Cipher } from './secrets.ts'

type SealedColumn = { table: string; column: string }

export const SEALED_COLUMNS: readonly SealedColumn[] = TABLES.flatMap(({ name, sealed = [] }) =>
  sealed.map((column) => ({ table: name, column })),
)

const VALUES_AT_ONCE = 500

export async function findKeyIds(db: Db): Promise<string[]> {
  const found = await Promise.all(SEALED_COLUMNS.map((one) => keyIdsOf(db, one)))
  return [...new Set(found.flat())].toSorted()
}

/** Seals every secret with the first key; concurrent changes win. Returns the number resealed. Throws if no key fits. */
export async function resealSecrets(db: Db, cipher: Cipher): Promise<number> {
  let count = 0
  for (const one of SEALED_COLUMNS) {
    for (let resealed = -1; resealed !== 0; count += resealed) resealed = await resealSome(db, cipher, one)
  }
  return count
}

async function keyIdsOf(db: Db, { table, column }: SealedColumn): Promise<string[]> {
  const rows = await db<{ keyId: string }[]>`
    select distinct split_part(${db(column)}, '.', 2) as key_id from ${db(table)} where ${db(column)} like 'v1.%'
  `
  return rows.map(({ keyId }) => keyId)
}

/** Sealed texts are unique, so that `before` identifies the row. */
async function resealSome(db: Db, cipher: Cipher, { table, column }: SealedColumn): Promise<number> {
  const [first = ''] = cipher.keyIds
  const rows = await db<{ sealed: string }[]>`
    select ${db(column)} as sealed
    from ${db(table)}
    where ${db(column)} like 'v1.%' and split_part(${db(column)}, '.', 2) <> ${first}
    limit ${VALUES_AT_ONCE}
  `
  const fresh = rows.map(({ sealed }) => ({ before: sealed, sealed: cipher.encrypt(cipher.decrypt(sealed)) }))
  if (fresh.length === 0) return 0
  await db`
    update ${db(table)} as existing
    set ${db(column)} = fresh.sealed
    from ${inputRows(fresh, { text: ['before', 'sealed'] }, 'fresh')}
    where existing.${db(column)} = fresh.before
  `
  return fresh.length
}

/** Returns the service's own 32-byte key (hex), generated on first use. All processes get the same one. */
export async function ensureServiceSecret(db: Db, cipher: Cipher, name: string): Promise<string> {
  const read = () => db<{ value: string }[]>`select value from service_secrets where name = ${name}`
  const [existing] = await read()
  if (existing !== undefined) return cipher.decrypt(existing.value)
  const value = cipher.encrypt(randomBytes(32).toString('hex'))
  await db`insert into service_secrets (name, value) values (${name}, ${value}) on conflict do nothing`
  const [stored] = await read()
  if (stored === undefined) throw new Error(`The secret ${name} was not stored`)
  return cipher.decrypt(stored.value)
}

/** Throws a StartError if keys of stored secrets are missing; sends and deliveries would fail later (decisions: Starting). */
export async function checkSecrets(db: Db, cipher: Cipher): Promise<void> {
  const missing = (await findKeyIds(db)).filter((keyId) => !cipher.keyIds.includes(keyId))
  if (missing.length === 0) return
  throw new StartError(
    `The database holds secrets encrypted with the key ${missing.join(', ')}, and ENCRYPTION_KEY has ${cipher.keyIds.join(', ')}: ` +
      'add the missing key to ENCRYPTION_KEY after a comma (key ids are the first 8 hex digits of a key’s SHA-256)',
  )
}
