import type { Db, Pool, Transaction } from '../../db/connect.ts'
import { changedMembers } from '../../http/as-read.ts'
import { type FieldFault, registrationNotFound, validationError } from '../../platform/errors.ts'
import { memberOf } from '../../platform/text/json-text.ts'
import type { Cipher } from '../../secrets/secrets.ts'
import {
  type GivenHeaders,
  keepValues,
  openHeaders,
  sealHeaders,
  staticHeaderFaults,
} from '../attempts/delivery-headers.ts'
import { type ReceiverRules, receiverUrlFault } from '../attempts/receiver-address.ts'
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

export type RegistrationRules = ReceiverRules & { serviceName: string }
export type RegistrationDeps = { db: Db; cipher: Pick<Cipher, 'encrypt' | 'decrypt'> }

type RegistrationRequest = {
  name: string
  url: string
  events: string[]
  channelIds?: number[] | null
  secret?: string | null
  method?: DeliveryMethod
  ordered?: boolean
  headers?: GivenHeaders
}

type RegistrationUpdate = Partial<RegistrationRequest> & {
  status?: RegistrationStatus
  health?: unknown
  pausedReason?: unknown
}

/** Returns URL and header faults. Accepts malformed bodies, so that schema faults can be reported together. */
export function registrationFaults(body: unknown, rules: RegistrationRules): FieldFault[] {
  if (typeof body !== 'object' || body === null) return []
  const url = 'url' in body && typeof body.url === 'string' ? receiverUrlFault(body.url, rules) : undefined
  return [
    ...(url === undefined ? [] : [{ path: 'url', message: url }]),
    ...staticHeaderFaults(memberOf(body, 'headers'), rules.serviceName),
  ]
}

/** Creates an active registration (spec: Webhook registrations) from a checked request; 422 at the company's limit. */
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

async function requireRoom(tx: Transaction, companyId: number): Promise<void> {
  await lockRegistrations(tx, companyId)
  const { count, limit } = await countRegistrations(tx, companyId)
  if (count < limit) return
  const message = `cannot be kept: the company has at most ${limit} registrations`
  throw validationError([{ path: 'body', message }])
}

export const listCompanyRegistrations = async (deps: RegistrationDeps, companyId: number): Promise<Registration[]> =>
  (await listRegistrations(deps.db, companyId)).map((row) => toRegistration(deps, row))

/** Returns a registration; 404 also for another company's. */
export const getRegistration = async (
  deps: RegistrationDeps,
  companyId: number,
  id: number | undefined,
): Promise<Registration> => toRegistration(deps, await getRegistrationRow(deps, companyId, id))

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
 * Updates changed members; the header value `…` keeps the stored one. Once `inactive` is answered, no attempt starts.
 * @throws {AppError} 404; 422 for an invalid value or a changed read-only member
 */
export async function updateRegistration(
  deps: RegistrationDeps & { db: Pool; rules: RegistrationRules },
  companyId: number,
  id: number | undefined,
  request: RegistrationUpdate,
): Promise<Registration> {
  // The lock prevents overwriting a concurrent change.
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

/** A record written back as read doesn't resume. */
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

/** Soft-deletes a registration; no attempt can start afterwards. */
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

/** Accepts stored numbers, which may be disconnected by now; 422 for others. */
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
      ? [{ path: `channelIds[${index}]`, message: 'must be a connected number of the company' }]
      : [],
  )
  if (faults.length > 0) throw validationError(faults)
  return distinct(channelIds)
}
