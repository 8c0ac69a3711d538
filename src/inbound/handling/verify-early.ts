import type { Db } from '../../db/connect.ts'
import { recordKeyOf } from '../../platform/ids.ts'
import type { InboundItem } from '../../providers/events/event-item.ts'
import type { StoredEvent } from '../event-store.ts'
import { openSecrets } from '../ingest/secret-cache.ts'
import { isProven, type NumberSecrets } from '../ingest/signature.ts'
import { findSecretsOf, findSecretsOfAccounts, type RoutedSender } from './routing/routing-store.ts'

export type Early = {
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
  const distinct = new Map(early.map((one) => [keyOf(one), one]))
  const [ofAccounts, ofNumbers] = [
    [...distinct.values()].filter(isOfAccount),
    [...distinct.values()].filter(isOfNumber),
  ]
  const secrets = new Map<string, NumberSecrets[]>()
  const numbers = ofNumbers.length === 0 ? [] : await findSecretsOf(tx, ofNumbers.map(senderOf))
  for (const row of numbers) secrets.set(recordKeyOf(row), openSecrets([row], decrypt))
  const accounts = ofAccounts.length === 0 ? [] : await findSecretsOfAccounts(tx, ofAccounts.map(senderOf))
  for (const [key, rows] of Map.groupBy(accounts, accountKeyOf)) secrets.set(key, openSecrets(rows, decrypt))
  return secrets
}

const isOfAccount = ({ item }: Early): boolean => item.route.by === 'account'
const isOfNumber = (one: Early): boolean => !isOfAccount(one)
const senderOf = ({ sender }: Early): RoutedSender => sender
const accountKeyOf = ({ companyId, wabaAccountId }: Pick<RoutedSender, 'companyId' | 'wabaAccountId'>): string =>
  `account ${companyId} ${wabaAccountId}`
const keyOf = (one: Early): string => (isOfAccount(one) ? accountKeyOf(one.sender) : recordKeyOf(one.sender))

/** Returns whether an item must prove its number's secrets. */
export const isEarly = ({ event, receivedAt, sender }: Early): boolean =>
  event.needsProof || (sender.proofUntil !== null && receivedAt < sender.proofUntil && !event.isChecked)
