import { createHash } from 'node:crypto'
import Format from 'typebox/format'
import type { Clock } from '../clock.ts'
import type { Db, Pool } from '../db/connect.ts'
import { apiKeyNotFound, companyNotFound, type FieldFault, validationError } from '../errors.ts'
import { PERMISSIONS, type Permission } from '../http/caller.ts'
import { newApiSecret, newClientId } from '../ids.ts'
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
import { type BrowserKeySettings, isBrowserKey, writableFieldFaults } from './browser-key.ts'

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
  db: Pool
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
export async function createApiKey(deps: ApiKeyDeps, companyId: number, given: NewApiKey): Promise<CreatedApiKey> {
  const values = parseNewApiKey(given, deps.clock)
  const clientId = newClientId()
  const secret = newApiSecret()
  const identitySecret = given.identitySecret ? newApiSecret() : null
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
 * Changes the given settings of a key for browsers; null sets the default again. 404 when the company has no such key; 422 for
 * other keys, and for fields that do not exist.
 */
export async function changeApiKey(
  deps: Pick<ApiKeyDeps, 'db' | 'onKeyChanged'>,
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

const SETTINGS = ['rateLimitPerMinute', 'rateLimitPerAddress', 'writableFields', 'identitySecret'] as const

/** The faults of the settings that only keys for browsers have. */
export function browserFaults(
  given: BrowserKeySettings & { identitySecret?: boolean },
  permissions: readonly Permission[],
): FieldFault[] {
  const isSet = (name: (typeof SETTINGS)[number]) => given[name] !== undefined && given[name] !== false
  const message = 'is for keys that hold only ContactsUpsert'
  const misplaced = isBrowserKey(permissions) ? [] : SETTINGS.filter(isSet).map((path) => ({ path, message }))
  return [...misplaced, ...writableFieldFaults(given.writableFields)]
}

/** The members that are given, as they are stored. */
const toLimits = (given: BrowserKeySettings): Partial<ApiKeyLimits> => ({
  ...(given.rateLimitPerMinute !== undefined && { keyLimitPerMinute: given.rateLimitPerMinute }),
  ...(given.rateLimitPerAddress !== undefined && { addressLimitPerMinute: given.rateLimitPerAddress }),
  ...(given.writableFields !== undefined && { writableFields: given.writableFields }),
})

/** The company's keys that are not revoked, oldest first; an expired one is still listed. */
export const listApiKeys = (db: Db, companyId: number): Promise<ApiKey[]> => selectApiKeys(db, companyId)

/** Ends a key for good; 404 when the company has no such key or it is revoked already. */
export async function revokeApiKey(
  deps: Pick<ApiKeyDeps, 'db' | 'onKeyChanged'>,
  companyId: number,
  clientId: string,
): Promise<void> {
  if (!(await markApiKeyRevoked(deps.db, companyId, clientId))) throw apiKeyNotFound()
  deps.onKeyChanged(clientId)
}

/** Ends every key of a company and answers their client ids: tell `onKeyChanged` once the change is committed. */
export const revokeAllApiKeys = (db: Db, companyId: number): Promise<string[]> => markAllApiKeysRevoked(db, companyId)

const digestOf = (secret: string): Buffer => createHash('sha256').update(secret).digest()

function parseNewApiKey(given: NewApiKey, clock: Clock) {
  const faults: FieldFault[] = []
  const values = readNewApiKey(given, clock, faults)
  if (faults.length > 0) throw validationError(faults)
  return values
}

/** The faults of a new key that its shape cannot find: a blank name, unknown permissions, invalid origins, an unusable expiry. */
export function apiKeyFaults(given: Partial<NewApiKey>, clock: Clock): FieldFault[] {
  const faults: FieldFault[] = []
  readNewApiKey({ name: 'absent', permissions: ['ContactsUpsert'], ...given }, clock, faults)
  return faults
}

function readNewApiKey(given: NewApiKey, clock: Clock, faults: FieldFault[]) {
  const name = given.name.trim()
  if (name === '') faults.push({ path: 'name', message: 'must not be blank' })
  const permissions = parsePermissions(given.permissions, faults)
  if (permissions.length > 0) faults.push(...browserFaults(given, permissions))
  return {
    name,
    permissions,
    limits: { keyLimitPerMinute: null, addressLimitPerMinute: null, writableFields: null, ...toLimits(given) },
    allowedOrigins: parseOrigins(given.allowedOrigins ?? [], faults),
    expiresAt: parseExpiry(given.expiresAt ?? null, clock, faults),
  }
}

function parsePermissions(given: readonly string[], faults: FieldFault[]): Permission[] {
  const permissions = new Set<Permission>()
  // Skips the places of items whose shape is wrong.
  given.forEach((word, index) => {
    const permission = PERMISSIONS.find((one) => one.toLowerCase() === word.trim().toLowerCase())
    if (permission) permissions.add(permission)
    else faults.push({ path: `permissions[${index}]`, message: `must be one of ${PERMISSIONS.join(', ')}` })
  })
  if (given.length === 0) faults.push({ path: 'permissions', message: 'must name at least one permission' })
  return [...permissions]
}

function parseOrigins(given: readonly string[], faults: FieldFault[]): string[] {
  const origins = new Set<string>()
  given.forEach((text, index) => {
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

function parseExpiry(given: string | null, clock: Clock, faults: FieldFault[]): Date | null {
  if (given === null) return null
  if (!Format.IsDateTime(given) && !Format.IsDate(given)) {
    faults.push({ path: 'expiresAt', message: 'must be an ISO 8601 date, or a time with Z or an offset' })
    return null
  }
  const expiresAt = new Date(given)
  if (!(expiresAt > clock.now())) faults.push({ path: 'expiresAt', message: 'must be in the future' })
  return expiresAt
}
