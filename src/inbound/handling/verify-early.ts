import type { Db } from '../../db/connect.ts'
import { recordKeyOf } from '../../ids.ts'
import type { StoredEvent } from '../event-store.ts'
import { openSecrets } from '../ingest/secret-cache.ts'
import { isProven } from '../ingest/signature.ts'
import { findSecretsOf, type RoutedSender } from './routing/routing-store.ts'

export type Early = { receivedAt: Date; event: StoredEvent; sender: RoutedSender }

/**
 * Splits items by whether they are taken. An event that was accepted while its number was not connected, or before every
 * process knew the number's secrets, was not checked then: it has to prove those secrets now. All others are taken, as is
 * what was checked when it was requeued.
 */
export async function verifyEarly<Routed extends Early>(
  tx: Db,
  decrypt: (sealed: string) => string,
  routed: readonly Routed[],
): Promise<{ taken: readonly Routed[]; unverified: readonly Routed[] }> {
  const early = routed.filter(isEarly)
  if (early.length === 0) return { taken: routed, unverified: [] }
  const senders = new Map(early.map(({ sender }) => [recordKeyOf(sender), sender]))
  const secrets = new Map<string, ReturnType<typeof openSecrets>>()
  for (const row of await findSecretsOf(tx, [...senders.values()]))
    secrets.set(recordKeyOf(row), openSecrets([row], decrypt))

  const outcomes = new Map<string, boolean>()
  const isVerified = ({ event, sender }: Early): boolean => {
    const key = `${event.id} ${recordKeyOf(sender)}`
    const required = secrets.get(recordKeyOf(sender))
    const outcome = outcomes.get(key) ?? (required !== undefined && isProven(event.body, event, required))
    outcomes.set(key, outcome)
    return outcome
  }
  const unverified = new Set(early.filter((one) => !isVerified(one)))
  return { taken: routed.filter((one) => !unverified.has(one)), unverified: [...unverified] }
}

/** Whether an event came before its number's secrets were known everywhere: it has to prove them when it is handled. */
export const isEarly = ({ event, receivedAt, sender }: Early): boolean =>
  sender.proofUntil !== null && receivedAt < sender.proofUntil && !event.isChecked
