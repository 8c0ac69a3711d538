import type { Db } from '../../db/connect.ts'
import type { ConsentLedger } from '../../people/consent/consent-ledger.ts'
import { appendConsents, type NewConsent } from '../../people/consent/consent-store.ts'
import { readLedgers, refreshConsents } from '../../people/consent/shown-consent.ts'
import { keepOptOuts } from '../erasure/contact-erasure-store.ts'
import { listErased } from '../erasure/erased-key-store.ts'

/** A preference about marketing messages that a customer sent through the provider. */
export type Preference = {
  readonly companyId: number
  /** Identity of the phone and user id. */
  readonly identities: readonly string[]
  readonly value: boolean
  /** By the provider's clock. */
  readonly saidAt: Date
  /** Of the provider's event: a repeated one says nothing new. */
  readonly eventId: string
  readonly arrivedAt: Date
}

/**
 * Records what customers said about marketing at the provider, under all their identities, also of customers who are no
 * contacts yet. Of persons who were erased after the event had arrived, opt-outs alone are kept, as a keyed hash. Returns the
 * contacts whose consent changed.
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

/** Whether each preference is of a person who was erased after it had arrived. */
export async function areOfErased(tx: Db, preferences: readonly Preference[]): Promise<boolean[]> {
  if (preferences.length === 0) return []
  return listErased(
    tx,
    preferences.map((preference) => ({ ...preference, wamids: [] })),
  )
}

/** The living contact of the customer, else the oldest with the number. */
function contactOf(
  { contacts, contactsByPhone, customersByIdentity }: ConsentLedger,
  identities: readonly string[],
): number | null {
  const ofCustomer = identities.flatMap((identity) => [...(customersByIdentity.get(identity) ?? [])])
  const ids = ofCustomer.map(({ contactId }) => contactId).filter((id) => contacts.get(id)?.isLiving)
  const holders = identities.flatMap((identity) => [...(contactsByPhone.get(identity) ?? [])].map(({ id }) => id))
  return ids[0] ?? holders.sort((a, b) => a - b)[0] ?? null
}
