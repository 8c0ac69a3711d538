import type { Db } from '../db/connect.ts'
import { type FieldFault, registrationNotFound } from '../errors.ts'
import { type ReceiverRules, receiverUrlFault } from './receiver-url.ts'
import {
  type DeliveryMethod,
  findRegistration,
  insertRegistration,
  listRegistrations,
  markRegistrationDeleted,
  type Registration,
  type RegistrationStatus,
  updateRegistrationRow,
} from './registration-store.ts'
import { type StaticHeader, staticHeaderFaults } from './static-header.ts'

export const EVENTS = ['whatsapp.message.received'] as const
export const MAX_NAME_LENGTH = 200
export const MIN_SECRET_LENGTH = 16
export const MAX_SECRET_LENGTH = 256

/** Keeps secrets unreadable at rest; `decrypt` undoes `encrypt`, for older keys too. */
export type SecretCipher = { encrypt(clear: string): string; decrypt(stored: string): string }

export type RegistrationRules = ReceiverRules & { serviceName: string }
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
  return await insertRegistration(deps.db, companyId, {
    name,
    url,
    events: distinct(request.events),
    method: request.method ?? 'POST',
    headers: request.headers ?? [],
    secret: secret === null ? null : deps.cipher.encrypt(secret),
  })
}

export const listCompanyRegistrations = (deps: Pick<RegistrationDeps, 'db'>, companyId: number) =>
  listRegistrations(deps.db, companyId)

/** A company's living registration; another company's is missing like one that never was. */
export async function getRegistration(
  deps: Pick<RegistrationDeps, 'db'>,
  companyId: number,
  id: number | undefined,
): Promise<Registration> {
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
  const { secret, events, ...same } = request
  const changes = {
    ...same,
    ...(events !== undefined && { events: distinct(events) }),
    ...(secret !== undefined && { secret: secret === null ? null : deps.cipher.encrypt(secret) }),
  }
  const updated = id === undefined ? undefined : await updateRegistrationRow(deps.db, companyId, id, changes)
  if (updated === undefined) throw registrationNotFound()
  return updated
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

const distinct = (values: string[]): string[] => [...new Set(values)]
