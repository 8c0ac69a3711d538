import { NO_EVENTS, type RecordEvents } from '../changes/record-change.ts'
import type { Db, Pool } from '../db/connect.ts'
import { lastOptOuts } from '../people/consent/consent-ledger.ts'
import { appendConsents } from '../people/consent/consent-store.ts'
import { readLedgers } from '../people/consent/shown-consent.ts'
import type { ChangedBy, Contact, ContactWrite, ShownContact } from '../people/contact-record.ts'
import { endContact, findContact, findContactByEmail } from '../people/contact-store.ts'
import { attachCustomersOf, lockAlso, withMatchesLocked } from '../people/matching/identity-lock.ts'
import { hasTwinWithoutEmail, type Match } from '../people/matching/identity-store.ts'
import { listHolders, refuseTwins, rekeyMailboxes } from '../people/matching/mailbox.ts'
import { badRequest, contactNotFound, duplicateResource, validationError } from '../platform/errors.ts'
import { parseId } from '../platform/ids.ts'
import { emailKey, isEmail } from '../platform/text/email-address.ts'
import { phoneIdentity } from '../platform/text/phone.ts'
import { applyLocked, changesOf, type ItemResult } from './write/contact-batch.ts'
import { writeChanges } from './write/contact-change.ts'
import { refuseWrongClaims } from './write/record-claims.ts'

/** Reads the id of an address. Throws 404 `Contact not found`. */
export function contactIdOf(text: string): number {
  const id = parseId(text)
  if (id === undefined) throw contactNotFound()
  return id
}

/** Returns a living contact. Throws 404 `Contact not found`. */
export async function getContact(db: Db, companyId: number, id: number): Promise<ShownContact> {
  const contact = await findContact(db, companyId, id)
  if (contact === undefined) throw contactNotFound()
  return contact
}

/** Finds a living contact by email. Throws 400 `Invalid email format`, 404 `Contact not found`. */
export async function getContactByEmail(db: Db, companyId: number, email: string): Promise<ShownContact> {
  if (!isEmail(email)) throw badRequest('Invalid email format')
  const contact = await findContactByEmail(db, companyId, email)
  if (contact === undefined) throw contactNotFound()
  return contact
}

/**
 * Updates a living contact (spec: PUT contacts); null removes a value. Throws 404 `Contact not found`; 409 if another
 * contact has the email, or two contacts with one phone would both lack an email; 400 if neither email nor phone would
 * remain; 422 if custom fields exceed their limits.
 */
export async function updateContact(
  db: Pool,
  companyId: number,
  id: number,
  write: ContactWrite,
  by: ChangedBy,
  events?: RecordEvents,
): Promise<Contact> {
  const email = write.email ? emailKey(write.email) : null
  const named = { emailKey: email, phoneIdentity: write.phone ? phoneIdentity(write.phone) : null, id }
  refuseTwins(await rekeyMailboxes(db, companyId, email === null ? [] : [email]))
  return withMatchesLocked(db, companyId, [named], async (tx, locked, commit) => {
    const existing = locked.matches.find((match) => match.id === id)
    if (existing === undefined) throw contactNotFound()
    if (write.email === undefined) await refuseFormerKey(tx, companyId, existing)
    if (email !== null && locked.matches.some((match) => match !== existing && match.emailKey === email)) {
      throw duplicateResource('Another contact has this email')
    }
    await refuseWrongClaims(tx, companyId, [{ contact: existing, claims: write.claims }])
    const stated = write.areConsentsRead ? withoutReadConsents(existing, write) : write
    const options = { whenFull: 'refuse', source: by.source, existing } as const
    const batch = await applyLocked(tx, companyId, [{ ...named, write: stated }], locked, options)
    for (const result of batch.results) await checkResult(tx, companyId, existing, result)
    const [contact = existing] = await writeChanges(tx, companyId, changesOf(batch), by, { commit, events })
    return contact
  })
}

/** A contact sharing its mailbox must get another email first. */
async function refuseFormerKey(tx: Db, companyId: number, { id, email, emailKey: stored }: Match): Promise<void> {
  if (email === null || stored === null || stored === emailKey(email)) return
  const [otherId] = await listHolders(tx, companyId, [emailKey(email)])
  if (otherId !== undefined) refuseTwins([{ key: stored, contactId: otherId, otherId: id }])
}

function withoutReadConsents(
  existing: Contact,
  { emailConsent, whatsappConsent, ...write }: ContactWrite,
): ContactWrite {
  return {
    ...write,
    ...(emailConsent !== undefined && emailConsent !== existing.emailConsent && { emailConsent }),
    ...(whatsappConsent !== undefined && whatsappConsent !== existing.whatsappConsent && { whatsappConsent }),
  }
}

async function checkResult(tx: Db, companyId: number, existing: Match, { state, fault }: ItemResult): Promise<void> {
  // A customer hiding the phone may have neither.
  const hadNeither = existing.email === null && existing.phone === null
  if (state.email === null && state.phone === null && !hadNeither) {
    throw badRequest('A contact needs an email or a phone')
  }
  if (fault !== undefined) throw validationError([fault])
  if (state.email !== null || state.phoneIdentity === null) return
  if (existing.email === null && existing.phoneIdentity === state.phoneIdentity) return
  await lockAlso(tx, companyId, [state.phoneIdentity])
  if (await hasTwinWithoutEmail(tx, companyId, state.phoneIdentity, state.id)) {
    throw duplicateResource('Another contact has this phone and no email')
  }
}

/** Soft-deletes a contact and passes its phone to the next oldest contact. Throws 404 `Contact not found`. */
export async function removeContact(
  db: Pool,
  companyId: number,
  id: number,
  events: RecordEvents = NO_EVENTS,
): Promise<void> {
  await withMatchesLocked(db, companyId, [{ emailKey: null, phoneIdentity: null, id }], async (tx, { matches }) => {
    const [existing] = matches
    if (existing === undefined) throw contactNotFound()
    await endContactAndKeepOptOuts(tx, companyId, existing)
    await attachCustomersOf(tx, companyId, id)
    await events.publish(tx, [{ event: 'contact.changed', companyId, id, change: 'deleted' }])
  })
}

/** Soft-deletes a contact and keeps its opt-outs. The caller must hold the row lock. */
async function endContactAndKeepOptOuts(
  tx: Db,
  companyId: number,
  { id, phoneIdentity: identity }: Pick<Contact, 'id' | 'phoneIdentity'>,
): Promise<void> {
  const ledger = (await readLedgers(tx, [{ companyId, contactId: id, identity }]))(companyId)
  const contact = ledger.contacts.get(id)
  const optOuts = contact === undefined ? [] : lastOptOuts(ledger, contact)
  if (optOuts.length > 0) {
    await appendConsents(
      tx,
      optOuts.map((one) => ({ ...one, companyId })),
    )
  }
  await endContact(tx, companyId, id)
}
