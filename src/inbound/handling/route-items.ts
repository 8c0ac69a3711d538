import { type Db, sql } from '../../db/connect.ts'
import { inputRows, recordKeyOf } from '../../db/input-rows.ts'
import type {
  CallItem,
  ChangeItem,
  InboundItem,
  MessageItem,
  NumberChangedItem,
  ReactionItem,
  StatusItem,
  UserIdChangedItem,
} from '../../providers/events/event-item.ts'
import type { ProviderName } from '../../providers/provider-name.ts'
import type { StoredEvent } from '../event-store.ts'
import { isProven, type NumberSecrets, openSecrets, type SealedSecrets } from './body-reader.ts'

export type Arrived = { item: InboundItem; receivedAt: Date; event: StoredEvent }
export type Routed<T> = Omit<Arrived, 'item'> & { item: T; sender: RoutedSender }
export type WrittenItem = Routed<MessageItem | CallItem | ReactionItem>
export type Conversing = WrittenItem | Routed<ChangeItem>
export type Renaming = Routed<NumberChangedItem | UserIdChangedItem>

export type RoutedItems = { routed: Routed<InboundItem>[]; unroutable: InboundItem[] }

/** Finds the senders for each item. Account and app items are routed once per company. */
export async function routeItems(tx: Db, arrived: readonly Arrived[]): Promise<RoutedItems> {
  const routable = arrived.filter(({ item: { kind } }) => kind !== 'ignored' && kind !== 'unreadable-item')
  const numbers = new Set<string>()
  const accounts = new Set<string>()
  const apps = new Set<string>()
  for (const { item } of routable) {
    if (item.route.by === 'sender') numbers.add(item.route.phoneNumberId)
    if (item.route.by === 'account') accounts.add(item.route.wabaAccountId)
    if (item.route.by === 'app') apps.add(item.route.appId)
  }
  const byNumber = numbers.size === 0 ? [] : await findSendersByNumber(tx, [...numbers])
  const byAccount = accounts.size === 0 ? [] : await findSendersByAccount(tx, [...accounts])
  const byApp = apps.size === 0 ? [] : await findSendersByApp(tx, [...apps])
  const senderOfNumber = new Map(byNumber.map((sender) => [sender.phoneNumberId, sender]))
  const sendersOfAccount = Map.groupBy(byAccount, (sender) => sender.wabaAccountId)
  const sendersOfApp = Map.groupBy(byApp, (sender) => sender.app)

  const routed: Routed<InboundItem>[] = []
  const unroutable: InboundItem[] = []
  for (const one of routable) {
    const senders = sendersOf(one.item)
    for (const sender of senders) routed.push({ ...one, sender })
    if (senders.length === 0) unroutable.push(one.item)
  }
  return { routed, unroutable }

  function sendersOf({ route }: InboundItem): RoutedSender[] {
    if (route.by === 'sender') {
      const sender = senderOfNumber.get(route.phoneNumberId)
      return sender === undefined ? [] : [sender]
    }
    if (route.by === 'nothing') return []
    const senders = route.by === 'app' ? sendersOfApp.get(route.appId) : sendersOfAccount.get(route.wabaAccountId)
    // Each company gets an account event once, for the number whose secrets changed last.
    const latest = (senders ?? []).toSorted((one, other) => Number(one.proofUntil) - Number(other.proofUntil))
    return [...new Map(latest.map((sender) => [sender.companyId, sender])).values()]
  }
}

export type RoutedSender = {
  companyId: number
  id: number
  provider: ProviderName
  phone: string
  phoneName: string
  phoneNumberId: string
  wabaAccountId: string
  /** Whether any receiver is active; without one no envelope is needed. */
  hasReceivers: boolean
  /** Events received before this must prove the secrets; null without secrets. */
  proofUntil: Date | null
}

const columns = sql`
  sender.company_id, sender.id, sender.provider, sender.phone, sender.phone_name, sender.phone_number_id,
  sender.waba_account_id, sender.has_receivers, sender.proof_until
`

/** Finds senders by provider number id. */
export function findSendersByNumber(db: Db, phoneNumberIds: readonly string[]): Promise<RoutedSender[]> {
  return db<RoutedSender[]>`select ${columns} from find_senders(${phoneNumberIds as string[]}::text[]) as sender`
}

/** Finds senders by business account, possibly shared by several companies. */
function findSendersByAccount(db: Db, wabaAccountIds: readonly string[]): Promise<RoutedSender[]> {
  return db<RoutedSender[]>`
    select ${columns}
    from routed_senders sender
    where sender.waba_account_id = any(${wabaAccountIds as string[]}) and sender.deleted_at is null
  `
}

/** Finds senders by app id or app name. */
function findSendersByApp(db: Db, apps: readonly string[]): Promise<(RoutedSender & { app: string })[]> {
  return db<(RoutedSender & { app: string })[]>`
    select ${columns}, named.app
    from unnest(${apps as string[]}::text[]) as named (app)
    join routed_senders sender on sender.app_id = named.app or sender.app_name = named.app
    where sender.deleted_at is null
  `
}

export const isRenaming = (one: Routed<InboundItem>): one is Renaming =>
  one.item.kind === 'number-changed' || one.item.kind === 'user-id-changed'
/** Returns whether a customer or the business wrote the item; includes calls. */
export const isWritten = (one: Routed<InboundItem>): one is WrittenItem =>
  one.item.kind === 'message' || one.item.kind === 'call' || one.item.kind === 'reaction'
export const isCall = (one: Routed<InboundItem>): one is Routed<CallItem> => one.item.kind === 'call'
export const isChange = (one: Routed<InboundItem>): one is Routed<ChangeItem> => one.item.kind === 'change'
export const isConversational = (one: Routed<InboundItem>): one is Conversing => isWritten(one) || isChange(one)
export const isStatus = (one: Routed<InboundItem>): one is Routed<StatusItem> => one.item.kind === 'status'

type Early = {
  receivedAt: Date
  event: StoredEvent
  item: Pick<InboundItem, 'route'>
  sender: RoutedSender
}

/**
 * Splits items into taken and unverified. An item must prove its number's secrets if its body proved only some, or if
 * the event predates them. Account-only items must prove any number on the account.
 */
export async function verifyEarly<Routed extends Early>(
  tx: Db,
  decrypt: (sealed: string) => string,
  routed: readonly Routed[],
): Promise<{ taken: readonly Routed[]; unverified: readonly Routed[] }> {
  const early = routed.filter(isEarly)
  if (early.length === 0) return { taken: routed, unverified: [] }
  const secrets = await readSecrets(tx, decrypt, early)
  const outcomes = new Map<string, boolean>()
  const isVerified = (one: Early): boolean => {
    const key = `${one.event.id} ${keyOf(one)}`
    const outcome = outcomes.get(key) ?? isProven(one.event.body, one.event, [secrets.get(keyOf(one)) ?? noneOf(one)])
    outcomes.set(key, outcome)
    return outcome
  }
  const unverified = new Set(early.filter((one) => !isVerified(one)))
  return { taken: routed.filter((one) => !unverified.has(one)), unverified: [...unverified] }
}

/** Without secrets on its account, an account item needs no proof. An unknown number proves nothing. */
const noneOf = (one: Early): NumberSecrets[] => (isOfAccount(one) ? [{ appSecret: null, webhookSecret: null }] : [])

async function readSecrets(tx: Db, decrypt: (sealed: string) => string, early: readonly Early[]) {
  const distinct = [...new Map(early.map((one) => [keyOf(one), one])).values()]
  const sendersOf = (isWanted: (one: Early) => boolean) => distinct.filter(isWanted).map(({ sender }) => sender)
  const numbers = await findSecretsOf(
    tx,
    sendersOf((one) => !isOfAccount(one)),
  )
  const accounts = await findSecretsOfAccounts(tx, sendersOf(isOfAccount))
  return new Map<string, NumberSecrets[]>([
    ...numbers.map((row) => [recordKeyOf(row), openSecrets([row], decrypt)] as const),
    ...[...Map.groupBy(accounts, accountKeyOf)].map(([key, rows]) => [key, openSecrets(rows, decrypt)] as const),
  ])
}

const isOfAccount = ({ item }: Early): boolean => item.route.by === 'account'
const accountKeyOf = ({ companyId, wabaAccountId }: Pick<RoutedSender, 'companyId' | 'wabaAccountId'>): string =>
  `account ${companyId} ${wabaAccountId}`
const keyOf = (one: Early): string => (isOfAccount(one) ? accountKeyOf(one.sender) : recordKeyOf(one.sender))

/** Returns whether an item must prove its number's secrets. */
export const isEarly = ({ event, receivedAt, sender }: Early): boolean =>
  event.needsProof || (sender.proofUntil !== null && receivedAt < sender.proofUntil && !event.isChecked)

/** Returns encrypted secrets for these senders; omits unknown senders. */
export function findSecretsOf(
  db: Db,
  senders: readonly { companyId: number; id: number }[],
): Promise<(SealedSecrets & { companyId: number; id: number })[]> {
  if (senders.length === 0) return Promise.resolve([])
  return db`
    select sender.company_id, sender.id, sender.app_secret, sender.webhook_secret
    from ${inputRows(senders, { bigint: ['companyId', 'id'] }, 'requested')}
    join senders sender on (sender.company_id, sender.id) = (requested.company_id, requested.id)
  `
}

/** Returns encrypted secrets for connected senders on these accounts. */
function findSecretsOfAccounts(
  db: Db,
  accounts: readonly { companyId: number; wabaAccountId: string }[],
): Promise<(SealedSecrets & { companyId: number; wabaAccountId: string })[]> {
  if (accounts.length === 0) return Promise.resolve([])
  return db`
    select distinct sender.company_id, sender.waba_account_id, sender.app_secret, sender.webhook_secret
    from ${inputRows(accounts, { bigint: ['companyId'], text: ['wabaAccountId'] }, 'requested')}
    join senders sender on (sender.company_id, sender.waba_account_id) = (requested.company_id, requested.waba_account_id)
    where (sender.app_secret is not null or sender.webhook_secret is not null) and sender.deleted_at is null
  `
}
