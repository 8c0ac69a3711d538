import type { Db, Pool, Transaction } from '../../db/connect.ts'
import { changedMembers } from '../../http/as-read.ts'
import { type FieldFault, registrationNotFound, validationError } from '../../platform/errors.ts'
import { memberOf } from '../../platform/text/own-member.ts'
import { type ReceiverRules, receiverUrlFault } from './receiver-url.ts'
import { REGISTRATION_SERVICE_MEMBERS, toRegistrationReply } from './registration-shape.ts'
import {
  countRegistrations,
  type DeliveryMethod,
  findRegistration,
  findUnknownChannels,
  insertRegistration,
  listRegistrations,
  lockRegistrations,
  markRegistrationDeleted,
  type Registration,
  type RegistrationRow,
  type RegistrationStatus,
  updateRegistrationRow,
} from './registration-store.ts'
import { openHeaders, sealHeaders } from './sealed-headers.ts'
import { type GivenHeaders, keepValues, staticHeaderFaults } from './static-header.ts'

/** Keeps secrets unreadable at rest; `decrypt` undoes `encrypt`, for older keys too. */
export type SecretCipher = { encrypt(clear: string): string; decrypt(stored: string): string }

export type RegistrationRules = ReceiverRules & { serviceName: string }
export type RegistrationDeps = { db: Db; cipher: SecretCipher }

export type RegistrationRequest = {
  name: string
  url: string
  events: string[]
  /** Null as well as absent: all numbers. */
  channelIds?: number[] | null
  /** Null as well as absent: deliveries are not signed. */
  secret?: string | null
  method?: DeliveryMethod
  ordered?: boolean
  headers?: GivenHeaders
}

/** `health` is part of the record; it changes nothing. */
export type RegistrationUpdate = Partial<RegistrationRequest> & {
  status?: RegistrationStatus
  health?: unknown
  pausedReason?: unknown
}

/**
 * The faults of a request beyond its shape: the receiver's address, reserved or repeated headers. Takes a body
 * that may be misshapen, so that these faults are reported together with those of the shape.
 */
export function registrationFaults(body: unknown, rules: RegistrationRules): FieldFault[] {
  if (typeof body !== 'object' || body === null) return []
  const url = 'url' in body && typeof body.url === 'string' ? receiverUrlFault(body.url, rules) : undefined
  return [
    ...(url === undefined ? [] : [{ path: 'url', message: url }]),
    ...staticHeaderFaults(memberOf(body, 'headers'), rules.serviceName),
  ]
}

/**
 * Registers a receiver, active at once (spec: Webhook registrations). The request has been checked.
 * @throws {AppError} 422 when the company has as many registrations as the operator allows
 */
export async function createRegistration(
  deps: Omit<RegistrationDeps, 'db'> & { db: Transaction },
  companyId: number,
  request: RegistrationRequest,
): Promise<Registration> {
  await requireRoom(deps.db, companyId)
  const { name, url, secret = null } = request
  const channelIds = await checkChannels(deps.db, companyId, request.channelIds ?? null)
  const row = await insertRegistration(deps.db, companyId, {
    name,
    url,
    events: distinct(request.events),
    channelIds,
    method: request.method ?? 'POST',
    ordered: request.ordered ?? false,
    staticHeaders: sealHeaders(keepValues(request.headers ?? [], []), deps.cipher.encrypt),
    secret: secret === null ? null : deps.cipher.encrypt(secret),
  })
  return toRegistration(deps, row)
}

/** Locks the number of registrations until the transaction ends, before it is read. */
async function requireRoom(tx: Transaction, companyId: number): Promise<void> {
  await lockRegistrations(tx, companyId)
  const { count, limit } = await countRegistrations(tx, companyId)
  if (count < limit) return
  const message = `cannot be kept: the company has at most ${limit} registrations`
  throw validationError([{ path: 'body', message }])
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
 * Changes the members of the request that differ from the stored ones; a new secret replaces the old at once, null removes
 * it; a header with the value `…` keeps its value. Once this has answered with `inactive`, no attempt starts any more.
 * @throws {AppError} 404; 422 for a new value that the rules do not admit, or for another value of what only the service sets
 */
export async function updateRegistration(
  deps: RegistrationDeps & { db: Pool; rules: RegistrationRules },
  companyId: number,
  id: number | undefined,
  request: RegistrationUpdate,
): Promise<Registration> {
  // The lock: a value that another request stores meanwhile is kept, and not the one before it.
  return deps.db.begin(async (tx) => {
    const row = id === undefined ? undefined : await findRegistration(tx, companyId, id, 'for update')
    if (row === undefined) throw registrationNotFound()
    const stored = toRegistration(deps, row)
    const { health: _, ...given } = request
    const { changes, faults } = changedMembers(given, toRegistrationReply(stored), REGISTRATION_SERVICE_MEMBERS)
    const found = [...faults, ...registrationFaults(changes, deps.rules)]
    if (found.length > 0) throw validationError(found)
    const resumed = resumes(request, stored) ? { ...changes, status: 'active' as const } : changes
    if (Object.keys(resumed).length === 0) return stored
    return change({ ...deps, db: tx }, companyId, stored, resumed)
  })
}

/** Whether a change resumes an active registration; a record that is written back as it was read does not. */
const resumes = ({ status, pausedReason }: RegistrationUpdate, stored: Registration): boolean =>
  status === 'active' && stored.status === 'active' && stored.pausedReason !== null && pausedReason === undefined

async function change(
  deps: RegistrationDeps,
  companyId: number,
  stored: Registration,
  request: RegistrationUpdate,
): Promise<Registration> {
  const { secret, events, channelIds, headers, ...same } = request
  const changes = {
    ...same,
    ...(events !== undefined && { events: distinct(events) }),
    ...(channelIds !== undefined && {
      channelIds: await checkChannels(deps.db, companyId, channelIds, stored.channelIds ?? []),
    }),
    ...(headers !== undefined && {
      staticHeaders: sealHeaders(keepValues(headers, stored.headers), deps.cipher.encrypt),
    }),
    ...(secret !== undefined && { secret: secret === null ? null : deps.cipher.encrypt(secret) }),
  }
  const updated = await updateRegistrationRow(deps.db, companyId, stored.id, changes)
  if (updated === undefined) throw registrationNotFound()
  return toRegistration(deps, updated)
}

/** Soft-deletes; once this has answered, no attempt starts any more. */
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

const distinct = <T>(values: readonly T[]): T[] => [...new Set(values)]

/**
 * Numbers that the registration has already may have been removed since.
 * @throws {AppError} 422 `validation_error` for what is no connected number of the company
 */
async function checkChannels(
  db: Db,
  companyId: number,
  channelIds: readonly number[] | null,
  stored: readonly number[] = [],
): Promise<number[] | null> {
  if (channelIds === null) return null
  const unknown = new Set(await findUnknownChannels(db, companyId, channelIds))
  const faults = channelIds.flatMap((id, index) =>
    unknown.has(id) && !stored.includes(id)
      ? [{ path: `channelIds[${index}]`, message: 'is no connected number of the company' }]
      : [],
  )
  if (faults.length > 0) throw validationError(faults)
  return distinct(channelIds)
}
