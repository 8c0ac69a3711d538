import type { Db } from '../db/connect.ts'
import { type FieldFault, registrationNotFound } from '../errors.ts'
import { type ReceiverRules, receiverUrlFault } from './receiver-url.ts'
import {
  type DeliveryMethod,
  findRegistration,
  insertRegistration,
  listRegistrations,
  markRegistrationDeleted,
  type RegistrationRow,
  type RegistrationStatus,
  updateRegistrationRow,
} from './registration-store.ts'
import { openHeaders, sealHeaders } from './sealed-headers.ts'
import { type StaticHeader, staticHeaderFaults } from './static-header.ts'

export const EVENTS = ['whatsapp.message.received'] as const
export const MAX_NAME_LENGTH = 200
export const MIN_SECRET_LENGTH = 16
export const MAX_SECRET_LENGTH = 256

/** Keeps secrets unreadable at rest; `decrypt` undoes `encrypt`, for older keys too. */
export type SecretCipher = { encrypt(clear: string): string; decrypt(stored: string): string }

export type RegistrationRules = ReceiverRules & { serviceName: string }
/** With its static headers in clear; the secret stays encrypted. */
export type Registration = Omit<RegistrationRow, 'staticHeaders'> & { headers: StaticHeader[] }

export type RegistrationDeps = { db: Db; cipher: SecretCipher }

export type RegistrationRequest = {
  name: string
  url: string
  events: string[]
  /** Null as well as absent: deliveries are not signed. */
  secret?: string | null
  method?: DeliveryMethod
  headers?: StaticHeader[]
}

export type RegistrationUpdate = Partial<RegistrationRequest> & { status?: RegistrationStatus }

/**
 * What is wrong with a request beyond its shape: the receiver's address, reserved or repeated headers. Takes a body
 * that may be misshapen, so that these faults are reported together with those of the shape.
 */
export function registrationFaults(body: unknown, rules: RegistrationRules): FieldFault[] {
  if (typeof body !== 'object' || body === null) return []
  const url = 'url' in body && typeof body.url === 'string' ? receiverUrlFault(body.url, rules) : undefined
  const headers = 'headers' in body && Array.isArray(body.headers) ? body.headers : []
  return [
    ...(url === undefined ? [] : [{ path: 'url', message: url }]),
    ...staticHeaderFaults(headers, rules.serviceName),
  ]
}

/** Registers a receiver, active at once (spec: Webhook registrations). The request has been checked. */
export async function createRegistration(
  deps: RegistrationDeps,
  companyId: number,
  request: RegistrationRequest,
): Promise<Registration> {
  const { name, url, secret = null } = request
  const row = await insertRegistration(deps.db, companyId, {
    name,
    url,
    events: distinct(request.events),
    method: request.method ?? 'POST',
    staticHeaders: sealHeaders(request.headers ?? [], deps.cipher.encrypt),
    secret: secret === null ? null : deps.cipher.encrypt(secret),
  })
  return toRegistration(deps, row)
}

/** The company's registrations, oldest first, with the values of their headers decrypted. */
export const listCompanyRegistrations = async (deps: RegistrationDeps, companyId: number): Promise<Registration[]> =>
  (await listRegistrations(deps.db, companyId)).map((row) => toRegistration(deps, row))

/** A company's living registration; another company's is missing like one that never was. */
export const getRegistration = async (
  deps: RegistrationDeps,
  companyId: number,
  id: number | undefined,
): Promise<Registration> => toRegistration(deps, await getRegistrationRow(deps, companyId, id))

/** The same as it is stored, for what needs none of its credentials. */
export async function getRegistrationRow(
  deps: Pick<RegistrationDeps, 'db'>,
  companyId: number,
  id: number | undefined,
): Promise<RegistrationRow> {
  const found = id === undefined ? undefined : await findRegistration(deps.db, companyId, id)
  if (found === undefined) throw registrationNotFound()
  return found
}

/**
 * Changes only what the request carries; a new secret replaces the old at once, null removes it. Once this has
 * answered with `inactive`, no attempt begins any more.
 */
export async function updateRegistration(
  deps: RegistrationDeps,
  companyId: number,
  id: number | undefined,
  request: RegistrationUpdate,
): Promise<Registration> {
  const { secret, events, headers, ...same } = request
  const changes = {
    ...same,
    ...(events !== undefined && { events: distinct(events) }),
    ...(headers !== undefined && { staticHeaders: sealHeaders(headers, deps.cipher.encrypt) }),
    ...(secret !== undefined && { secret: secret === null ? null : deps.cipher.encrypt(secret) }),
  }
  const updated = id === undefined ? undefined : await updateRegistrationRow(deps.db, companyId, id, changes)
  if (updated === undefined) throw registrationNotFound()
  return toRegistration(deps, updated)
}

/** Soft-deletes; once this has answered, no attempt begins any more. */
export async function removeRegistration(
  deps: Pick<RegistrationDeps, 'db'>,
  companyId: number,
  id: number | undefined,
): Promise<void> {
  const removed = id !== undefined && (await markRegistrationDeleted(deps.db, companyId, id))
  if (!removed) throw registrationNotFound()
}

const toRegistration = (deps: RegistrationDeps, { staticHeaders, ...row }: RegistrationRow): Registration => ({
  ...row,
  headers: openHeaders(staticHeaders, deps.cipher.decrypt),
})

const distinct = (values: string[]): string[] => [...new Set(values)]
