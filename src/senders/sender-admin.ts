import type { Db, Pool } from '../db/connect.ts'
import { companyNotFound, duplicateResource, senderRecordNotFound } from '../platform/errors.ts'
import { appIdOf, type ConnectionDeps, checkConnection, completeFrom } from './check-connection.ts'
import type { SenderCipher, SenderRecord } from './sender.ts'
import {
  deleteRoute,
  findSender,
  insertRoute,
  insertSender,
  lockCompany,
  lockSender,
  markAllSendersRemoved,
  markConnected,
  markSenderRemoved,
  preferOldestSender,
  preferSender,
  restoreSender,
  type SenderRow,
  type SenderValues,
  selectSenders,
  updateSenderRow,
} from './sender-store.ts'
import { type NewSender, parseInput, type SenderChange } from './sender-values.ts'

export type { NewSender, SenderChange } from './sender-values.ts'

export type SenderAdminDeps = ConnectionDeps & {
  db: Pool
  cipher: SenderCipher
  /** Makes the process forget what it remembers of the company's senders; called after the commit. */
  onSendersChanged(companyId: number): void
  /**
   * Runs inside the transaction that connects a number, moves a sender to another number or account, or changes its
   * secrets: the place to enqueue what follows from it (template sync, events that could not be routed or verified).
   */
  onSenderConnected(tx: Db, companyId: number, sender: SenderRecord): Promise<void>
  /** Runs after that commit and before the answer: the place to read the account's templates. Never fails. */
  afterSenderConnected(companyId: number): Promise<void>
}

/**
 * Connects a number to a company, with its name and number read from the provider where the request has none. The first
 * one is preferred; a later one takes that over when it says so. A number that the same company removed continues: its id,
 * conversations and daily ledger, and its limits unless the request has others.
 * 404 unknown company; 409 when the provider's number id is connected already; 422 names every wrong value, or
 * what the provider refuses, with its message; 503 when it cannot be reached and the request has no name and number.
 */
export async function connectSender(deps: SenderAdminDeps, companyId: number, input: NewSender): Promise<SenderRecord> {
  const values = await toValues(deps, input)
  const connected = await change(deps, companyId, async (tx) => {
    const id = await addSender(tx, companyId, values)
    await route(tx, companyId, id, values.phoneNumberId)
    if (input.isPreferred) await preferSender(tx, companyId, id)
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
 * Changes what the input names; null removes an optional value. Preferring one ends the preference of the other;
 * the preferred one cannot be un-preferred by itself (422), because exactly one has to be.
 */
export async function updateSender(
  deps: SenderAdminDeps,
  companyId: number,
  senderId: number,
  input: SenderChange,
): Promise<SenderRecord> {
  if (input.accessToken !== undefined) await checkCredential(deps, companyId, senderId, input)
  let isMoved = false
  const sender = await change(deps, companyId, async (tx) => {
    const before = await lockSender(tx, companyId, senderId)
    if (before === undefined) throw senderRecordNotFound()
    const values = parseChange(before, input, deps.cipher)
    await updateSenderRow(tx, companyId, senderId, values)
    if (input.isPreferred) await preferSender(tx, companyId, senderId)

    const rerouted = values.phoneNumberId !== before.phoneNumberId
    if (rerouted) {
      await deleteRoute(tx, companyId, senderId)
      await route(tx, companyId, senderId, values.phoneNumberId)
    }
    const changed = await getSender(tx, companyId, senderId)
    isMoved = rerouted || values.wabaAccountId !== before.wabaAccountId || values.appId !== before.appId
    if (isMoved) await markConnected(tx, companyId, senderId)
    const hasNewSecret = input.appSecret !== undefined || input.webhookSecret !== undefined
    if (isMoved || hasNewSecret) await deps.onSenderConnected(tx, companyId, changed)
    return changed
  })
  if (isMoved) await deps.afterSenderConnected(companyId)
  return sender
}

/** Disconnects a number, which may be connected again. The oldest remaining number becomes the preferred one. */
export async function removeSender(deps: SenderAdminDeps, companyId: number, senderId: number): Promise<void> {
  await change(deps, companyId, async (tx) => {
    if (!(await markSenderRemoved(tx, companyId, senderId))) throw senderRecordNotFound()
    await deleteRoute(tx, companyId, senderId)
    await preferOldestSender(tx, companyId)
  })
}

/** Disconnects every number of a company that is being removed; call `onSendersChanged` after the commit. */
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

async function addSender(tx: Db, companyId: number, values: SenderValues): Promise<number> {
  const removed = await restoreSender(tx, companyId, values.phoneNumberId)
  if (removed === undefined) return (await insertSender(tx, companyId, values)).id
  const hasLimit = values.tier !== null || values.dailyLimit !== null
  await updateSenderRow(tx, companyId, removed.id, {
    ...values,
    ...(!hasLimit && { tier: removed.tier, dailyLimit: removed.dailyLimit }),
    throughputPerSecond: values.throughputPerSecond ?? removed.throughputPerSecond,
    ...(values.marketingAddress === UNSET.marketingAddress && { marketingAddress: removed.marketingAddress }),
    directSend: values.directSend || removed.directSend,
  })
  return removed.id
}

async function route(tx: Db, companyId: number, senderId: number, phoneNumberId: string): Promise<void> {
  if (await insertRoute(tx, companyId, senderId, phoneNumberId)) return
  throw duplicateResource('A number with this phoneNumberId is connected already')
}

function withoutSecrets(row: SenderRow): SenderRecord {
  const { accessToken: _accessToken, appSecret: _appSecret, webhookSecret, ...record } = row
  return { ...record, hasWebhookSecret: webhookSecret !== null }
}

const UNSET = {
  appSecret: null,
  webhookSecret: null,
  apiBaseUrl: null,
  appId: null,
  appName: null,
  portfolioId: null,
  tier: null,
  dailyLimit: null,
  throughputPerSecond: null,
  marketingAddress: 'auto',
  directSend: false,
} as const

/** All that is kept of a new number: checked first, then with its provider's help. */
async function toValues(deps: SenderAdminDeps, input: NewSender): Promise<SenderValues> {
  const parsed = { ...UNSET, ...parseInput(input, deps.cipher) }
  const { apiBaseUrl, appId } = parsed
  const phoneNumberId = input.phoneNumberId.trim()
  const wabaAccountId = input.wabaAccountId.trim()
  const connection = { ...input, phoneNumberId, wabaAccountId, apiBaseUrl, appId }
  const checked = await checkConnection(deps, connection, input.phoneNumber)
  const { phone = '', ...named } = parseInput(completeFrom(checked, input), deps.cipher)
  return {
    ...parsed,
    provider: input.provider,
    phoneNumberId,
    wabaAccountId,
    accessToken: parsed.accessToken ?? deps.cipher.encrypt(input.accessToken),
    appId: appIdOf(deps, connection),
    phone,
    phoneNumber: named.phoneNumber ?? '',
    phoneName: named.phoneName ?? '',
    isSharedWithApp: checked.number?.isSharedWithApp ?? false,
  }
}

/** A new credential is tried at the provider before it replaces the old one. */
async function checkCredential(deps: SenderAdminDeps, companyId: number, senderId: number, input: SenderChange) {
  const before = await findSender(deps.db, companyId, senderId)
  if (before === undefined) throw senderRecordNotFound()
  const accessToken = input.accessToken ?? ''
  await checkConnection(deps, { ...before, ...parseInput(input, deps.cipher), accessToken }, input.phoneNumber)
}

function parseChange(before: SenderRow, input: SenderChange, cipher: SenderCipher): SenderValues {
  const message = 'cannot be taken away: prefer another sender instead'
  const faults = input.isPreferred === false && before.isPreferred ? [{ path: 'isPreferred', message }] : []
  return { ...before, ...parseInput(input, cipher, faults) }
}
