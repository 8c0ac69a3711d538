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
  /** Invalidates the process's caches after the commit. */
  onSendersChanged(companyId: number): void
  /** Runs in the transaction that connects a number, changes its id, account or secrets; can enqueue jobs. */
  onSenderConnected(tx: Db, companyId: number, sender: SenderRecord): Promise<void>
  /** Runs between the commit and the answer. Must not throw. */
  afterSenderConnected(companyId: number): Promise<void>
}

/**
 * Connects a number; the provider completes a missing name or number. The first is preferred, later ones on request. A
 * removed number keeps its id, conversations, daily ledger and, unless given, limits.
 * @throws {AppError} 404 unknown company; 409 connected already; 422 wrong or refused values; 503 provider unreachable
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

export const listSenders = async (db: Db, companyId: number): Promise<SenderRecord[]> =>
  (await selectSenders(db, companyId)).map(withoutSecrets)

export async function getSender(db: Db, companyId: number, senderId: number): Promise<SenderRecord> {
  const row = await findSender(db, companyId, senderId)
  if (row === undefined) throw senderRecordNotFound()
  return withoutSecrets(row)
}

/** Updates the given values; null removes an optional one. 422 for `isPreferred: false`: exactly one must be preferred. */
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

/** Disconnects a number, which can be reconnected; the oldest remaining one becomes preferred. */
export async function removeSender(deps: SenderAdminDeps, companyId: number, senderId: number): Promise<void> {
  await change(deps, companyId, async (tx) => {
    if (!(await markSenderRemoved(tx, companyId, senderId))) throw senderRecordNotFound()
    await deleteRoute(tx, companyId, senderId)
    await preferOldestSender(tx, companyId)
  })
}

/** Disconnects every number. Call `onSendersChanged` after the commit. */
export const removeAllSenders = (tx: Db, companyId: number): Promise<void> => markAllSendersRemoved(tx, companyId)

/** Serializes changes of a company's senders, so that exactly one is preferred after each. */
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

/** A new credential must work at the provider before it replaces the old one. */
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
