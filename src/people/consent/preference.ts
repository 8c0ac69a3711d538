import type { Db } from '../../db/connect.ts'
import { listErased } from '../customer-store.ts'
import type { ConsentLedger } from './consent-ledger.ts'
import { appendConsents, keepOptOuts, type NewConsent } from './consent-store.ts'
import { readLedgers, refreshConsents } from './shown-consent.ts'

export type Preference = {
  readonly companyId: number
  readonly identities: readonly string[]
  readonly value: boolean
  readonly saidAt: Date
  /** Provider event id; repeats are ignored. */
  readonly eventId: string
  readonly arrivedAt: Date
}

/**
 * Records preferences under all identities, also without a contact. For people erased after the event arrived, keeps
 * opt-outs only, as keyed hashes. Returns the contacts with changed consent.
 */
export async function recordPreferences(
  tx: Db,
  arrived: readonly Preference[],
): Promise<{ companyId: number; id: number }[]> {
  const areErased = await areOfErased(tx, arrived)
  for (const { companyId, identities, value, saidAt } of arrived.filter((_, place) => areErased[place])) {
    const optOuts = identities.map((identity) => ({ channel: 'whatsapp' as const, identity, saidAt }))
    if (!value) await keepOptOuts(tx, companyId, optOuts)
  }
  const preferences = arrived.filter((_, place) => !areErased[place])
  if (preferences.length === 0) return []
  const keys = preferences.flatMap(({ companyId, identities }) =>
    identities.map((identity) => ({ companyId, identity })),
  )
  const ledgerOf = await readLedgers(tx, keys)
  await appendConsents(
    tx,
    preferences.flatMap(({ companyId, identities, ...statement }) =>
      identities.map((identity): NewConsent => {
        const contactId = contactOf(ledgerOf(companyId), identities)
        const entry = {
          companyId,
          channel: 'whatsapp',
          identity,
          contactId,
          source: 'provider',
          clientId: null,
        } as const
        return { ...entry, ...statement }
      }),
    ),
  )
  const changed = await refreshConsents(tx, keys)
  return changed.map(({ companyId, contactId }) => ({ companyId, id: contactId }))
}

/** Returns whether each person was erased after the preference arrived. */
export async function areOfErased(tx: Db, preferences: readonly Preference[]): Promise<boolean[]> {
  if (preferences.length === 0) return []
  return listErased(
    tx,
    preferences.map((preference) => ({ ...preference, wamids: [] })),
  )
}

function contactOf(
  { contacts, contactsByPhone, customersByIdentity }: ConsentLedger,
  identities: readonly string[],
): number | null {
  const ofCustomer = identities.flatMap((identity) => [...(customersByIdentity.get(identity) ?? [])])
  const ids = ofCustomer.map(({ contactId }) => contactId).filter((id) => contacts.get(id)?.isLiving)
  const holders = identities.flatMap((identity) => [...(contactsByPhone.get(identity) ?? [])].map(({ id }) => id))
  return ids[0] ?? holders.sort((a, b) => a - b)[0] ?? null
}
