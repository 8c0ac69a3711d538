import { type Db, sql } from '../db/connect.ts'
import type { Permission } from '../http/admission/caller.ts'

export type ApiKey = {
  readonly clientId: string
  readonly name: string
  readonly permissions: readonly Permission[]
  readonly allowedOrigins: readonly string[]
  readonly expiresAt: Date | null
  readonly createdAt: Date
  /** Browser keys only, as are the next three; null means the default. */
  readonly keyLimitPerMinute: number | null
  readonly addressLimitPerMinute: number | null
  readonly writableFields: readonly string[] | null
  readonly storedBytesPerHour: number | null
  readonly hasIdentitySecret: boolean
}

export type ApiKeyLimits = Pick<
  ApiKey,
  'keyLimitPerMinute' | 'addressLimitPerMinute' | 'writableFields' | 'storedBytesPerHour'
>

type ApiKeyValues = {
  clientId: string
  name: string
  digest: Buffer
  permissions: readonly Permission[]
  allowedOrigins: readonly string[]
  expiresAt: Date | null
  limits: ApiKeyLimits
  identitySecret: string | null
}

const columns = sql`
  client_id, name, permissions, allowed_origins, expires_at, created_at,
  key_limit_per_minute, address_limit_per_minute, writable_fields, stored_bytes_per_hour, identity_secret is not null as has_identity_secret`

/** Inserts a key; returns undefined if no living company has the id. */
export async function insertApiKey(db: Db, companyId: number, values: ApiKeyValues): Promise<ApiKey | undefined> {
  const [key] = await db<ApiKey[]>`
    insert into api_keys (
      client_id, company_id, name, digest, permissions, allowed_origins, expires_at,
      key_limit_per_minute, address_limit_per_minute, writable_fields, stored_bytes_per_hour, identity_secret
    )
    select ${values.clientId}, id, ${values.name}, ${values.digest},
           ${[...values.permissions]}::text[], ${[...values.allowedOrigins]}::text[], ${values.expiresAt}::timestamptz,
           ${values.limits.keyLimitPerMinute}::integer, ${values.limits.addressLimitPerMinute}::integer,
           ${arrayOrNull(values.limits)}::text[], ${values.limits.storedBytesPerHour}::bigint, ${values.identitySecret}::text
    from companies
    where id = ${companyId}
      and deleted_at is null
    for share -- a removal that runs now is waited for, so that no key outlives it
    returning ${columns}`
  return key
}

/** Locks and returns an unrevoked key. */
export async function findAdminApiKey(db: Db, companyId: number, clientId: string): Promise<ApiKey | undefined> {
  const [key] = await db<ApiKey[]>`
    select ${columns}
    from api_keys
    where company_id = ${companyId}
      and client_id = ${clientId}
      and revoked_at is null
    for update`
  return key
}

/** Updates browser key limits; returns undefined if the company has no such unrevoked key. */
export async function updateApiKeyLimits(
  db: Db,
  companyId: number,
  clientId: string,
  limits: ApiKeyLimits,
): Promise<ApiKey | undefined> {
  const [key] = await db<ApiKey[]>`
    update api_keys
    set
      key_limit_per_minute = ${limits.keyLimitPerMinute},
      address_limit_per_minute = ${limits.addressLimitPerMinute},
      writable_fields = ${arrayOrNull(limits)}::text[],
      stored_bytes_per_hour = ${limits.storedBytesPerHour}
    where company_id = ${companyId}
      and client_id = ${clientId}
      and revoked_at is null
    returning ${columns}`
  return key
}

const arrayOrNull = ({ writableFields }: ApiKeyLimits): string[] | null => (writableFields ? [...writableFields] : null)

export const selectApiKeys = (db: Db, companyId: number): Promise<ApiKey[]> => db<ApiKey[]>`
  select ${columns}
  from api_keys
  where company_id = ${companyId}
    and revoked_at is null
  order by created_at, client_id`

export async function markApiKeyRevoked(db: Db, companyId: number, clientId: string): Promise<boolean> {
  const revoked = await db`
    update api_keys
    set revoked_at = now()
    where company_id = ${companyId}
      and client_id = ${clientId}
      and revoked_at is null`
  return revoked.count > 0
}

/** Revokes every key of the company; returns their client ids for cache invalidation. */
export async function markAllApiKeysRevoked(db: Db, companyId: number): Promise<string[]> {
  const revoked = await db<{ clientId: string }[]>`
    update api_keys
    set revoked_at = now()
    where company_id = ${companyId}
      and revoked_at is null
    returning client_id`
  return revoked.map((key) => key.clientId)
}
