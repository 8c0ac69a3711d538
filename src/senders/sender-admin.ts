import type { Db, Pool } from '../db/connect.ts'
import {
  companyNotFound,
  duplicateResource,
  type FieldFault,
  senderRecordNotFound,
  validationError,
} from '../errors.ts'
import { type Cipher, type ProviderName, parseSenderPhone, type SenderRecord } from './sender.ts'
import {
  deleteRoute,
  findSender,
  insertRoute,
  insertSender,
  lockCompany,
  lockSender,
  markAllSendersRemoved,
  markSenderRemoved,
  preferOldestSender,
  preferSender,
  type SenderRow,
  type SenderValues,
  selectSenders,
  updateSenderRow,
} from './sender-store.ts'

export type NewSender = {
  provider: ProviderName
  phoneNumber: string
  phoneName: string
  phoneNumberId: string
  wabaAccountId: string
  accessToken: string
  appSecret?: string | null
  apiBaseUrl?: string | null
  isPreferred?: boolean
  tier?: number | null
  dailyLimit?: number | null
}
export type SenderChange = Partial<NewSender>

export type SenderAdminDeps = {
  db: Pool
  cipher: Cipher
  /** Makes the process forget what it remembers of the company's senders; called after the commit. */
  onSendersChanged(companyId: number): void
  /**
   * Runs inside the transaction that connects a number or moves a sender to another number or account: the place
   * to enqueue what follows from it (template sync, events that had no place yet).
   */
  onSenderConnected(tx: Db, companyId: number, sender: SenderRecord): Promise<void>
  /** Runs after that commit and before the answer: the place to read the account's templates. Never fails. */
  afterSenderConnected(companyId: number): Promise<void>
}

/**
 * Connects a number to a company. The first one is preferred; a later one takes that over when it says so.
 * 404 unknown company; 409 when the provider's number id is connected already; 422 names every wrong value.
 */
export async function connectSender(deps: SenderAdminDeps, companyId: number, given: NewSender): Promise<SenderRecord> {
  const values = parseSender(given, deps.cipher)
  const connected = await change(deps, companyId, async (tx) => {
    const { id } = await insertSender(tx, companyId, values)
    await route(tx, companyId, id, values.phoneNumberId)
    if (given.isPreferred) await preferSender(tx, companyId, id)
    else await preferOldestSender(tx, companyId)
    const sender = await getSender(tx, companyId, id)
    await deps.onSenderConnected(tx, companyId, sender)
    return sender
  })
  await deps.afterSenderConnected(companyId)
  return connected
}

/** The company's connected numbers, oldest first. */
export const listSenders = async (db: Db, companyId: number): Promise<SenderRecord[]> =>
  (await selectSenders(db, companyId)).map(withoutSecrets)

/** One connected number of the company, else 404. */
export async function getSender(db: Db, companyId: number, senderId: number): Promise<SenderRecord> {
  const row = await findSender(db, companyId, senderId)
  if (row === undefined) throw senderRecordNotFound()
  return withoutSecrets(row)
}

/**
 * Changes what is given; null takes an optional value away. Preferring one ends the preference of the other;
 * the preferred one cannot be un-preferred by itself (422), because exactly one has to be.
 */
export async function updateSender(
  deps: SenderAdminDeps,
  companyId: number,
  senderId: number,
  given: SenderChange,
): Promise<SenderRecord> {
  let isMoved = false
  const sender = await change(deps, companyId, async (tx) => {
    const before = await lockSender(tx, companyId, senderId)
    if (before === undefined) throw senderRecordNotFound()
    const values = parseSenderChange(before, given, deps.cipher)
    await updateSenderRow(tx, companyId, senderId, values)
    if (given.isPreferred) await preferSender(tx, companyId, senderId)

    const rerouted = values.phoneNumberId !== before.phoneNumberId
    if (rerouted) {
      await deleteRoute(tx, companyId, senderId)
      await route(tx, companyId, senderId, values.phoneNumberId)
    }
    const changed = await getSender(tx, companyId, senderId)
    isMoved = rerouted || values.wabaAccountId !== before.wabaAccountId
    if (isMoved) await deps.onSenderConnected(tx, companyId, changed)
    return changed
  })
  if (isMoved) await deps.afterSenderConnected(companyId)
  return sender
}

/** Disconnects a number: whoever has it may connect it again. The oldest that remains takes over the preference. */
export async function removeSender(deps: SenderAdminDeps, companyId: number, senderId: number): Promise<void> {
  await change(deps, companyId, async (tx) => {
    if (!(await markSenderRemoved(tx, companyId, senderId))) throw senderRecordNotFound()
    await deleteRoute(tx, companyId, senderId)
    await preferOldestSender(tx, companyId)
  })
}

/** Disconnects every number of a company that is being removed; tell `onSendersChanged` after the commit. */
export const removeAllSenders = (tx: Db, companyId: number): Promise<void> => markAllSendersRemoved(tx, companyId)

/** One change of a company's senders at a time, so that exactly one of them is preferred after each. */
async function change<Result>(
  deps: SenderAdminDeps,
  companyId: number,
  work: (tx: Db) => Promise<Result>,
): Promise<Result> {
  const result = await deps.db.begin(async (tx) => {
    if (!(await lockCompany(tx, companyId))) throw companyNotFound()
    return { value: await work(tx) }
  })
  deps.onSendersChanged(companyId)
  return result.value
}

async function route(tx: Db, companyId: number, senderId: number, phoneNumberId: string): Promise<void> {
  if (await insertRoute(tx, companyId, senderId, phoneNumberId)) return
  throw duplicateResource('A number with this phoneNumberId is connected already')
}

function withoutSecrets({ accessToken: _accessToken, appSecret: _appSecret, ...record }: SenderRow): SenderRecord {
  return record
}

function parseSender(given: NewSender, cipher: Cipher): SenderValues {
  const faults: FieldFault[] = []
  const values = {
    provider: given.provider,
    ...parsePhone(given.phoneNumber, faults),
    phoneName: parseText('phoneName', given.phoneName, faults),
    phoneNumberId: parseText('phoneNumberId', given.phoneNumberId, faults),
    wabaAccountId: parseText('wabaAccountId', given.wabaAccountId, faults),
    accessToken: cipher.encrypt(given.accessToken),
    appSecret: seal(cipher, given.appSecret ?? null),
    apiBaseUrl: parseBaseUrl(given.apiBaseUrl ?? null, faults),
    tier: given.tier ?? null,
    dailyLimit: given.dailyLimit ?? null,
  }
  if (faults.length > 0) throw validationError(faults)
  return values
}

function parseSenderChange(before: SenderRow, given: SenderChange, cipher: Cipher): SenderValues {
  const faults: FieldFault[] = []
  if (given.isPreferred === false && before.isPreferred) {
    faults.push({ path: 'isPreferred', message: 'cannot be taken away: prefer another sender instead' })
  }
  const text = (path: 'phoneName' | 'phoneNumberId' | 'wabaAccountId') =>
    given[path] === undefined ? before[path] : parseText(path, given[path], faults)
  const values = {
    provider: given.provider ?? before.provider,
    ...(given.phoneNumber === undefined
      ? { phoneNumber: before.phoneNumber, phone: before.phone }
      : parsePhone(given.phoneNumber, faults)),
    phoneName: text('phoneName'),
    phoneNumberId: text('phoneNumberId'),
    wabaAccountId: text('wabaAccountId'),
    accessToken: given.accessToken === undefined ? before.accessToken : cipher.encrypt(given.accessToken),
    appSecret: given.appSecret === undefined ? before.appSecret : seal(cipher, given.appSecret),
    apiBaseUrl: given.apiBaseUrl === undefined ? before.apiBaseUrl : parseBaseUrl(given.apiBaseUrl, faults),
    tier: given.tier === undefined ? before.tier : given.tier,
    dailyLimit: given.dailyLimit === undefined ? before.dailyLimit : given.dailyLimit,
  }
  if (faults.length > 0) throw validationError(faults)
  return values
}

const seal = (cipher: Cipher, secret: string | null): string | null => (secret === null ? null : cipher.encrypt(secret))

function parsePhone(given: string, faults: FieldFault[]): { phoneNumber: string; phone: string } {
  const phone = parseSenderPhone(given)
  if (phone === undefined) faults.push({ path: 'phoneNumber', message: 'must hold 7 to 15 digits and no letters' })
  return { phoneNumber: given.trim(), phone: phone ?? '' }
}

function parseText(path: string, given: string, faults: FieldFault[]): string {
  const text = given.trim()
  if (text === '') faults.push({ path, message: 'must not be blank' })
  return text
}

/** Kept without a slash at the end, because the provider's paths begin with one. */
function parseBaseUrl(given: string | null, faults: FieldFault[]): string | null {
  if (given === null) return null
  const url = URL.parse(given)
  const usable = url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  if (!usable || /[?#\s]/.test(given)) {
    faults.push({ path: 'apiBaseUrl', message: 'must be an http or https address without query or credentials' })
  }
  return given.replace(/\/+$/, '')
}
