import { randomBytes } from 'node:crypto'
import { type Db, jsonRows } from '../db/connect.ts'
import type { Cipher } from './secrets.ts'

/** Every column that holds sealed text (src/secrets/secrets.ts); a test compares the list with the tables. */
export const SEALED_COLUMNS = [
  { table: 'companies', column: 'media_secret' },
  { table: 'senders', column: 'access_token' },
  { table: 'api_keys', column: 'identity_secret' },
  { table: 'senders', column: 'app_secret' },
  { table: 'senders', column: 'webhook_secret' },
  { table: 'registrations', column: 'secret' },
  { table: 'registrations', column: 'static_headers' },
  { table: 'email_settings', column: 'smtp_url' },
  { table: 'service_secrets', column: 'value' },
  { table: 'erasures', column: 'subject' },
  { table: 'operator_keys', column: 'answer_body' },
] as const

type SealedColumn = { table: string; column: string }

const VALUES_AT_ONCE = 500

/** The ids of the keys that stored secrets are sealed with. */
export async function findKeyIds(db: Db): Promise<string[]> {
  const found = await Promise.all(SEALED_COLUMNS.map((one) => keyIdsOf(db, one)))
  return [...new Set(found.flat())].toSorted()
}

/**
 * Seals every stored secret again that is not sealed with the cipher's first key, in steps of 500 values; a value that
 * changes meanwhile is left as it was changed. Returns how many were sealed.
 * @throws Error when a secret cannot be read with any of the cipher's keys
 */
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

/** No two sealed texts are equal: each names its row. */
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
    from jsonb_to_recordset(${jsonRows(db, fresh)}) as fresh (before text, sealed text)
    where existing.${db(column)} = fresh.before
  `
  return fresh.length
}

/** Reads a key that the service generated for itself, or generates it: 32 bytes in hex. All processes read the same. */
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
