import { createHash } from 'node:crypto'
import type { Db, Pool } from '../db/connect.ts'
import { PERMISSIONS, type Permission } from '../http/admission/caller.ts'
import type { Clock } from '../platform/clock.ts'
import { apiKeyNotFound, companyNotFound, type FieldFault, validationError } from '../platform/errors.ts'
import { newApiSecret, newClientId } from '../platform/ids.ts'
import { parseInstant } from '../platform/text/instant.ts'
import type { Cipher } from '../secrets/secrets.ts'
import {
  type ApiKey,
  type ApiKeyLimits,
  findAdminApiKey,
  insertApiKey,
  markAllApiKeysRevoked,
  markApiKeyRevoked,
  selectApiKeys,
  updateApiKeyLimits,
} from './api-key-admin-store.ts'
import { type BrowserKeySettings, isBrowserKey } from './browser-key.ts'

export type NewApiKey = {
  name: string
  permissions: readonly string[]
  allowedOrigins?: readonly string[]
  /** ISO 8601: a day (midnight UTC) or a time with an offset. */
  expiresAt?: string | null
  identitySecret?: boolean
} & BrowserKeySettings

export type ApiKeyDeps = {
  db: Db
  cipher: Pick<Cipher, 'encrypt'>
  clock: Clock
  apiKeyPrefix: string
  onKeyChanged(clientId: string): void
}

export type CreatedApiKey = ApiKey & { readonly token: string; readonly identitySecret: string | null }

/** Creates a key (decisions: Keys, permissions, CORS). 404 for an unknown company; 422 lists every invalid value. */
export async function createApiKey(deps: ApiKeyDeps, companyId: number, input: NewApiKey): Promise<CreatedApiKey> {
  const values = parseNewApiKey(input, deps.clock)
  const clientId = newClientId()
  const secret = newApiSecret()
  const identitySecret = input.identitySecret ? newApiSecret() : null
  const key = await insertApiKey(deps.db, companyId, {
    ...values,
    clientId,
    digest: digestOf(secret),
    identitySecret: identitySecret === null ? null : deps.cipher.encrypt(identitySecret),
  })
  if (key === undefined) throw companyNotFound()
  deps.onKeyChanged(clientId)
  return { ...key, identitySecret, token: `${deps.apiKeyPrefix}-${clientId}-${secret}` }
}

/** Changes browser key settings (null: default) after `writableFieldFaults`. 404 for an unknown key; 422 for other keys. */
export async function changeApiKey(
  deps: Pick<ApiKeyDeps, 'onKeyChanged'> & { db: Pool },
  companyId: number,
  clientId: string,
  change: BrowserKeySettings,
): Promise<ApiKey> {
  const key = await deps.db.begin(async (tx) => {
    const present = await findAdminApiKey(tx, companyId, clientId)
    if (present === undefined) throw apiKeyNotFound()
    const faults = browserFaults(change, present.permissions)
    if (faults.length > 0) throw validationError(faults)
    return updateApiKeyLimits(tx, companyId, clientId, { ...present, ...toLimits(change) })
  })
  if (key === undefined) throw apiKeyNotFound()
  deps.onKeyChanged(clientId)
  return key
}

const SETTINGS = [
  'rateLimitPerMinute',
  'rateLimitPerAddress',
  'writableFields',
  'storedBytesPerHour',
  'identitySecret',
] as const

/** Returns a fault for each browser-only setting on another kind of key. */
function browserFaults(
  input: BrowserKeySettings & { identitySecret?: boolean },
  permissions: readonly Permission[],
): FieldFault[] {
  const isSet = (name: (typeof SETTINGS)[number]) => input[name] !== undefined && input[name] !== false
  const message = 'is for keys that hold only ContactsUpsert'
  return isBrowserKey(permissions) ? [] : SETTINGS.filter(isSet).map((path) => ({ path, message }))
}

const NO_LIMITS: ApiKeyLimits = {
  keyLimitPerMinute: null,
  addressLimitPerMinute: null,
  writableFields: null,
  storedBytesPerHour: null,
}

const toLimits = (input: BrowserKeySettings): Partial<ApiKeyLimits> => ({
  ...(input.rateLimitPerMinute !== undefined && { keyLimitPerMinute: input.rateLimitPerMinute }),
  ...(input.rateLimitPerAddress !== undefined && { addressLimitPerMinute: input.rateLimitPerAddress }),
  ...(input.writableFields !== undefined && { writableFields: input.writableFields }),
  ...(input.storedBytesPerHour !== undefined && { storedBytesPerHour: input.storedBytesPerHour }),
})

/** Lists unrevoked keys, oldest first, including expired ones. */
export const listApiKeys = (db: Db, companyId: number): Promise<ApiKey[]> => selectApiKeys(db, companyId)

/** Revokes a key; 404 if unknown or already revoked. */
export async function revokeApiKey(
  deps: Pick<ApiKeyDeps, 'onKeyChanged'> & { db: Pool },
  companyId: number,
  clientId: string,
): Promise<void> {
  if (!(await markApiKeyRevoked(deps.db, companyId, clientId))) throw apiKeyNotFound()
  deps.onKeyChanged(clientId)
}

/** Revokes all company keys and returns their client ids. Call `onKeyChanged` for each after the commit. */
export const revokeAllApiKeys = (db: Db, companyId: number): Promise<string[]> => markAllApiKeysRevoked(db, companyId)

const digestOf = (secret: string): Buffer => createHash('sha256').update(secret).digest()

function parseNewApiKey(input: NewApiKey, clock: Clock) {
  const faults: FieldFault[] = []
  const values = readNewApiKey(input, clock, faults)
  if (faults.length > 0) throw validationError(faults)
  return values
}

/** Returns the faults beyond the schema: blank name, unknown permissions, invalid origins, unusable expiry. */
export function apiKeyFaults(input: Partial<NewApiKey>, clock: Clock): FieldFault[] {
  const faults: FieldFault[] = []
  readNewApiKey({ name: 'absent', permissions: ['ContactsUpsert'], ...input }, clock, faults)
  return faults
}

function readNewApiKey(input: NewApiKey, clock: Clock, faults: FieldFault[]) {
  const name = input.name.trim()
  if (name === '') faults.push({ path: 'name', message: 'must not be blank' })
  const permissions = parsePermissions(input.permissions, faults)
  if (permissions.length > 0) faults.push(...browserFaults(input, permissions))
  return {
    name,
    permissions,
    limits: { ...NO_LIMITS, ...toLimits(input) },
    allowedOrigins: parseOrigins(input.allowedOrigins ?? [], faults),
    expiresAt: parseExpiry(input.expiresAt ?? null, clock, faults),
  }
}

function parsePermissions(input: readonly string[], faults: FieldFault[]): Permission[] {
  const permissions = new Set<Permission>()
  // forEach skips holes, which schema validation leaves for invalid items.
  input.forEach((name, index) => {
    const permission = PERMISSIONS.find((one) => one.toLowerCase() === name.trim().toLowerCase())
    if (permission) permissions.add(permission)
    else faults.push({ path: `permissions[${index}]`, message: `must be one of ${PERMISSIONS.join(', ')}` })
  })
  if (input.length === 0) faults.push({ path: 'permissions', message: 'must contain at least one permission' })
  return [...permissions]
}

function parseOrigins(input: readonly string[], faults: FieldFault[]): string[] {
  const origins = new Set<string>()
  input.forEach((text, index) => {
    const origin = parseOrigin(text)
    if (origin !== undefined) origins.add(origin)
    else {
      const message = 'must be an http or https origin without path, such as https://app.example.com'
      faults.push({ path: `allowedOrigins[${index}]`, message })
    }
  })
  return [...origins]
}

/** Normalizes like browsers: lower case, no default port. Rejects wildcards, which would never match. */
function parseOrigin(text: string): string | undefined {
  if (!/^https?:\/\/[^/?#@*\\\s]+\/?$/i.test(text)) return undefined
  return URL.parse(text)?.origin
}

function parseExpiry(input: string | null, clock: Clock, faults: FieldFault[]): Date | null {
  if (input === null) return null
  const expiresAt = parseInstant(input)
  if (expiresAt === undefined) {
    faults.push({
      path: 'expiresAt',
      message: 'must be an ISO 8601 date, or a time with Z or an offset, from 1970 to 9999',
    })
    return null
  }
  if (!(expiresAt > clock.now())) faults.push({ path: 'expiresAt', message: 'must be in the future' })
  return expiresAt
}
