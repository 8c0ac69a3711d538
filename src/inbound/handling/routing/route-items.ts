import type { Db } from '../../../db/connect.ts'
import type {
  CallItem,
  ChangeItem,
  InboundItem,
  MessageItem,
  NumberChangedItem,
  ReactionItem,
  StatusItem,
  UserIdChangedItem,
} from '../../../providers/events/event-item.ts'
import type { StoredEvent } from '../../event-store.ts'
import { findSendersByAccount, findSendersByApp, findSendersByNumber, type RoutedSender } from './routing-store.ts'

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

export const isRenaming = (one: Routed<InboundItem>): one is Renaming =>
  one.item.kind === 'number-changed' || one.item.kind === 'user-id-changed'
/** Returns whether a customer or the business wrote the item; includes calls. */
export const isWritten = (one: Routed<InboundItem>): one is WrittenItem =>
  one.item.kind === 'message' || one.item.kind === 'call' || one.item.kind === 'reaction'
export const isCall = (one: Routed<InboundItem>): one is Routed<CallItem> => one.item.kind === 'call'
export const isChange = (one: Routed<InboundItem>): one is Routed<ChangeItem> => one.item.kind === 'change'
export const isConversational = (one: Routed<InboundItem>): one is Conversing => isWritten(one) || isChange(one)
export const isStatus = (one: Routed<InboundItem>): one is Routed<StatusItem> => one.item.kind === 'status'
