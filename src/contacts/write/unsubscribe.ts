import type { Publish } from '../../changes/live-change.ts'
import type { RecordChange, RecordEvents } from '../../changes/record-change.ts'
import type { Pool } from '../../db/connect.ts'
import { findContactByEmail } from '../../people/contact-store.ts'
import { upsertContacts } from './contact-upsert.ts'

const UNSUBSCRIBED = { clientId: null, source: 'unsubscribe' }

/** Records an email unsubscribe and its event in one transaction. */
export async function unsubscribe(
  { db, recordEvents: events, publish }: { db: Pool; recordEvents: RecordEvents; publish: Publish },
  companyId: number,
  { emailId, recipient }: { emailId: number; recipient: string },
): Promise<void> {
  const unsubscribed: RecordChange = { event: 'email.status', companyId, id: emailId, change: 'unsubscribed' }
  const existing = await findContactByEmail(db, companyId, recipient)
  // Creates a contact for an unknown address, so that the opt-out can be seen and changed.
  const write = { email: recipient, emailConsent: false, ...(existing === undefined && { source: 'Email' }) }
  const contacts = await upsertContacts(db, companyId, [write], UNSUBSCRIBED, {
    events,
    mayShareMailbox: true,
    alsoCommit: (tx) => events.publish(tx, [unsubscribed]),
  })
  publish(contacts.map(({ id }) => ({ topic: 'contact', companyId, id })))
}
