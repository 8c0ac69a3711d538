import type { Db } from '../db/connect.ts'
import type { Permission } from '../http/caller.ts'

/** A key as the operator sees it. The secret half is shown once, on creation, and is never stored. */
export type ApiKey = {
  readonly clientId: string
  readonly name: string
  readonly permissions: readonly Permission[]
  /** Browser origins that may use the key; none: no browser may. */
  readonly allowedOrigins: readonly string[]
  readonly expiresAt: Date | null
  readonly createdAt: Date
}

type ApiKeyValues = {
  clientId: string
  name: string
  /** SHA-256 of the secret half. */
  digest: Buffer
  permissions: readonly Permission[]
  allowedOrigins: readonly string[]
  expiresAt: Date | null
}

const columns = (db: Db) => db`client_id, name, permissions, allowed_origins, expires_at, created_at`

/** Inserts a key; undefined when there is no such living company. */
export async function insertApiKey(db: Db, companyId: number, values: ApiKeyValues): Promise<ApiKey | undefined> {
  const [key] = await db<ApiKey[]>`
    insert into api_keys (client_id, company_id, name, digest, permissions, allowed_origins, expires_at)
    select ${values.clientId}, id, ${values.name}, ${values.digest},
           ${[...values.permissions]}::text[], ${[...values.allowedOrigins]}::text[], ${values.expiresAt}::timestamptz
    from companies
    where id = ${companyId}
      and deleted_at is null
    for share -- a removal that runs now is waited for, so that no key outlives it
    returning ${columns(db)}`
  return key
}

/** The company's keys that are not revoked, oldest first. */
export const selectApiKeys = (db: Db, companyId: number): Promise<ApiKey[]> => db<ApiKey[]>`
  select ${columns(db)}
  from api_keys
  where company_id = ${companyId}
    and revoked_at is null
  order by created_at, client_id`

/** Revokes a key; false when the company has no such key that is not revoked. */
export async function markApiKeyRevoked(db: Db, companyId: number, clientId: string): Promise<boolean> {
  const revoked = await db`
    update api_keys
    set revoked_at = now()
    where company_id = ${companyId}
      and client_id = ${clientId}
      and revoked_at is null`
  return revoked.count > 0
}

/** Revokes every key of the company and returns the client ids, for the caches that know them. */
export async function markAllApiKeysRevoked(db: Db, companyId: number): Promise<string[]> {
  const revoked = await db<{ clientId: string }[]>`
    update api_keys
    set revoked_at = now()
    where company_id = ${companyId}
      and revoked_at is null
    returning client_id`
  return revoked.map((key) => key.clientId)
}
