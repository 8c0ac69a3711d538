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
  /** In any letter case. */
  permissions: readonly string[]
  allowedOrigins?: readonly string[]
  /** ISO 8601: a day (its midnight in UTC) or a time with its offset. */
  expiresAt?: string | null
  /** Whether the key takes proofs of identity: its secret is answered this once. */
  identitySecret?: boolean
} & BrowserKeySettings

/** `onKeyChanged` makes the process forget what it remembers of a key. */
export type ApiKeyDeps = {
  db: Db
  cipher: Pick<Cipher, 'encrypt'>
  clock: Clock
  apiKeyPrefix: string
  onKeyChanged(clientId: string): void
}

/** A key with its token and its identity secret, if it has one: the only time that both are in clear. */
export type CreatedApiKey = ApiKey & { readonly token: string; readonly identitySecret: string | null }

/**
 * Makes a key for a company (decisions: Keys, permissions, CORS) and answers its token, this once.
 * 404 when there is no such company; 422 names every value that is not allowed.
 */
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

/**
 * Changes these settings of a key for browsers; null sets the default again. The fields exist (`writableFieldFaults`). 404 when
 * the company has no such key; 422 for other keys.
 */
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

/** The faults of the settings that only keys for browsers have. */
export function browserFaults(
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

/** The members of the input, as they are stored. */
const toLimits = (input: BrowserKeySettings): Partial<ApiKeyLimits> => ({
  ...(input.rateLimitPerMinute !== undefined && { keyLimitPerMinute: input.rateLimitPerMinute }),
  ...(input.rateLimitPerAddress !== undefined && { addressLimitPerMinute: input.rateLimitPerAddress }),
  ...(input.writableFields !== undefined && { writableFields: input.writableFields }),
  ...(input.storedBytesPerHour !== undefined && { storedBytesPerHour: input.storedBytesPerHour }),
})

/** The company's keys that are not revoked, oldest first; an expired one is still listed. */
export const listApiKeys = (db: Db, companyId: number): Promise<ApiKey[]> => selectApiKeys(db, companyId)

/** Ends a key for good; 404 when the company has no such key or it is revoked already. */
export async function revokeApiKey(
  deps: Pick<ApiKeyDeps, 'onKeyChanged'> & { db: Pool },
  companyId: number,
  clientId: string,
): Promise<void> {
  if (!(await markApiKeyRevoked(deps.db, companyId, clientId))) throw apiKeyNotFound()
  deps.onKeyChanged(clientId)
}

/** Ends every key of a company and answers their client ids; call `onKeyChanged` after the commit. */
export const revokeAllApiKeys = (db: Db, companyId: number): Promise<string[]> => markAllApiKeysRevoked(db, companyId)

const digestOf = (secret: string): Buffer => createHash('sha256').update(secret).digest()

function parseNewApiKey(input: NewApiKey, clock: Clock) {
  const faults: FieldFault[] = []
  const values = readNewApiKey(input, clock, faults)
  if (faults.length > 0) throw validationError(faults)
  return values
}

/** The faults of a new key that its shape cannot find: a blank name, unknown permissions, invalid origins, an unusable expiry. */
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
  // Skips the places of items whose shape is wrong.
  input.forEach((name, index) => {
    const permission = PERMISSIONS.find((one) => one.toLowerCase() === name.trim().toLowerCase())
    if (permission) permissions.add(permission)
    else faults.push({ path: `permissions[${index}]`, message: `must be one of ${PERMISSIONS.join(', ')}` })
  })
  if (input.length === 0) faults.push({ path: 'permissions', message: 'must name at least one permission' })
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

/** As browsers send it: lower case, default port left out. A wildcard would never match, so it is refused. */
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
