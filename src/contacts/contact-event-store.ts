import type { Db } from '../db/connect.ts'
import { recordConsent } from './consent-store.ts'

/** What a customer told the provider about marketing messages. */
export type Preference = { companyId: number; identity: string; value: boolean }

/** Sets the WhatsApp consent of customers who stopped or resumed marketing at the provider. Strangers change nothing. */
export async function recordPreferences(tx: Db, preferences: readonly Preference[]): Promise<void> {
  for (const { companyId, identity, value } of preferences) {
    const contactId = await findContactOf(tx, companyId, identity)
    if (contactId === undefined) continue
    await recordConsent(tx, companyId, contactId, 'whatsapp', value, { clientId: null, source: 'provider' })
  }
}

/** A customer got another phone number or user id: the new identity means the same contact, unless it is somebody's. */
export async function addIdentity(tx: Db, companyId: number, from: string, to: string): Promise<void> {
  await tx`
    insert into contact_identities (company_id, identity, contact_id)
    select company_id, ${to}, contact_id
    from contact_identities
    where company_id = ${companyId} and identity = ${from}
    on conflict do nothing
  `
}

async function findContactOf(tx: Db, companyId: number, identity: string): Promise<number | undefined> {
  const rows = await tx<{ contactId: number }[]>`
    select contact_id from contact_identities where company_id = ${companyId} and identity = ${identity}
  `
  return rows[0]?.contactId
}
