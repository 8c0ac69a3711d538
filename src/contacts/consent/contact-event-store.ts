import type { Db } from '../../db/connect.ts'
import { recordConsent, storeOptOuts } from './consent-store.ts'

/** A preference about marketing messages that a customer sent through the provider. */
export type Preference = {
  companyId: number
  /** The identities by which the contact may be known, the most specific first. */
  identities: readonly string[]
  value: boolean
}

/**
 * Sets the WhatsApp consent of customers who stopped or resumed marketing at the provider. It is kept under all their
 * identities, also for customers who are no contacts yet. Returns the contacts.
 */
export async function recordPreferences(
  tx: Db,
  preferences: readonly Preference[],
): Promise<{ companyId: number; id: number }[]> {
  const contacts: { companyId: number; id: number }[] = []
  for (const { companyId, identities, value } of preferences) {
    await storeOptOuts(tx, companyId, 'whatsapp', identities, value)
    const contactId = await findContactOf(tx, companyId, identities)
    if (contactId === undefined) continue
    await recordConsent(tx, companyId, contactId, 'whatsapp', value, { clientId: null, source: 'provider' })
    contacts.push({ companyId, id: contactId })
  }
  return contacts
}

async function findContactOf(tx: Db, companyId: number, identities: readonly string[]): Promise<number | undefined> {
  const rows = await tx<{ contactId: number }[]>`
    select contact_id
    from contact_identities
    where company_id = ${companyId} and identity = any(${identities as string[]})
    order by array_position(${identities as string[]}, identity)
    limit 1
  `
  return rows[0]?.contactId
}
