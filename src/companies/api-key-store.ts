import type { Db } from '../db/connect.ts'
import type { Permission } from '../http/admission/caller.ts'
import type { PhoneCountry } from '../platform/text/phone.ts'

/** Can be expired. */
export type LiveApiKey = {
  companyId: number
  clientId: string
  name: string
  digest: Buffer
  permissions: Permission[]
  allowedOrigins: string[]
  rateLimitPerMinute: number
  expiresAt: Date | null
  /** Browser keys only: requests per minute; null means a share of the company limit. */
  keyLimitPerMinute: number | null
  addressLimitPerMinute: number | null
  writableFields: string[] | null
  storedBytesPerHour: number | null
  defaultCountry: PhoneCountry | null
  identitySecret: string | null
  isLocked: boolean
}

/** Returns the key; undefined if unknown, revoked or its company is deleted. */
export async function findApiKey(db: Db, clientId: string): Promise<LiveApiKey | undefined> {
  const [key] = await db<LiveApiKey[]>`
    select
      api_keys.company_id, client_id, api_keys.name, digest, permissions, allowed_origins, rate_limit_per_minute, default_country, expires_at,
      key_limit_per_minute, address_limit_per_minute, writable_fields, stored_bytes_per_hour, identity_secret,
      closed_at is not null as is_locked
    from api_keys
    join companies on companies.id = api_keys.company_id
    where client_id = ${clientId}
      and revoked_at is null
      and deleted_at is null`
  return key
}

/** Lists the origins allowed by any valid key. */
export async function listLiveOrigins(db: Db): Promise<string[]> {
  const rows = await db<{ origin: string }[]>`
    select distinct unnest(allowed_origins) as origin
    from api_keys
    join companies on companies.id = api_keys.company_id
    where allowed_origins <> '{}'
      and revoked_at is null
      and deleted_at is null
      and (expires_at is null or expires_at > now())`
  return rows.map(({ origin }) => origin)
}
