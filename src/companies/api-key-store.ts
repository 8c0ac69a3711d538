import type { Db } from '../db/connect.ts'
import type { Permission } from '../http/admission/caller.ts'
import type { PhoneCountry } from '../platform/text/phone-reading.ts'

/** A key that is not revoked, of a company that lives; it may have expired. */
export type LiveApiKey = {
  companyId: number
  clientId: string
  name: string
  digest: Buffer
  permissions: Permission[]
  allowedOrigins: string[]
  rateLimitPerMinute: number
  expiresAt: Date | null
  /** Of a key for browsers: requests a minute of its own and of one address; null: a share of the company's. */
  keyLimitPerMinute: number | null
  addressLimitPerMinute: number | null
  /** Null: all. */
  writableFields: string[] | null
  /** Null: the default. */
  storedBytesPerHour: number | null
  defaultCountry: PhoneCountry | null
  /** Encrypted. */
  identitySecret: string | null
  /** The company is being moved to another installation. */
  isLocked: boolean
}

/** The key of a client id; undefined when there is none, it is revoked, or its company is gone. */
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

/** The origins listed on any key that works now. */
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
