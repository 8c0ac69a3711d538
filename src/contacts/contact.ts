import type { Db, Pool } from '../db/connect.ts'
import { badRequest, contactNotFound, duplicateResource, validationError } from '../errors.ts'
import { emailKey, isEmail } from '../text/email-address.ts'
import { phoneIdentity } from '../text/phone.ts'
import { applyWrite, consentChanges, customFieldsFault, writeChanges } from './contact-change.ts'
import type { ChangedBy, Contact, ContactWrite } from './contact-record.ts'
import { type ContactState, endContact, findContact, findContactByEmail } from './contact-store.ts'
import { lockAlso, withMatchesLocked } from './matching/identity-lock.ts'
import { hasTwinWithoutEmail, type Match } from './matching/identity-store.ts'

/** The living contact with this id; 404 `Contact not found`. */
export async function getContact(db: Db, companyId: number, id: number): Promise<Contact> {
  const contact = await findContact(db, companyId, id)
  if (contact === undefined) throw contactNotFound()
  return contact
}

/** The living contact with this address in any letter case; 400 `Invalid email format`, 404 `Contact not found`. */
export async function getContactByEmail(db: Db, companyId: number, email: string): Promise<Contact> {
  if (!isEmail(email)) throw badRequest('Invalid email format')
  const contact = await findContactByEmail(db, companyId, email)
  if (contact === undefined) throw contactNotFound()
  return contact
}

/**
 * Changes what the write carries of one living contact (spec: PUT contacts); null takes a value away.
 * 404 `Contact not found`; 409 when the email is another living contact's, or when two contacts with one phone would
 * both be without email; 400 when neither email nor phone would be left; 422 when custom fields outgrow their limits.
 */
export async function updateContact(
  db: Pool,
  companyId: number,
  id: number,
  write: ContactWrite,
  by: ChangedBy,
): Promise<Contact> {
  const email = write.email ? emailKey(write.email) : null
  const phone = write.phone ? phoneIdentity(write.phone) : null
  return withMatchesLocked(
    db,
    companyId,
    [{ emailKey: email, phoneIdentity: phone, id }],
    async (tx, matches, _ids, commit) => {
      const known = matches.find((match) => match.id === id)
      if (known === undefined) throw contactNotFound()
      if (email !== null && matches.some((match) => match !== known && match.emailKey === email)) {
        throw duplicateResource('Another contact has this email')
      }
      const state = applyWrite(id, known, write)
      await checkState(tx, companyId, known, state)
      const before = known.phoneIdentity
      const releasedPhones = before === null || before === state.phoneIdentity ? [] : [before]
      const change = { known, state, consents: consentChanges(known, state, write), releasedPhones }
      const [contact] = await writeChanges(tx, companyId, [change], by, { commit })
      if (contact === undefined) throw contactNotFound()
      return contact
    },
  )
}

async function checkState(tx: Db, companyId: number, known: Match, state: ContactState): Promise<void> {
  if (state.email === null && state.phone === null) throw badRequest('A contact needs an email or a phone')
  const fault = state.customFields === known.customFields ? undefined : customFieldsFault(state.customFields)
  if (fault !== undefined) throw validationError([{ path: 'customFields', message: fault }])
  if (state.email !== null || state.phoneIdentity === null) return
  if (known.email === null && known.phoneIdentity === state.phoneIdentity) return
  await lockAlso(tx, companyId, [state.phoneIdentity])
  if (await hasTwinWithoutEmail(tx, companyId, state.phoneIdentity, state.id)) {
    throw duplicateResource('Another contact has this phone and no email')
  }
}

/**
 * Deletes a contact softly: it is not found any more, its email is free, and its phone means the next oldest contact
 * who has it. 404 `Contact not found`.
 */
export async function removeContact(db: Pool, companyId: number, id: number): Promise<void> {
  await withMatchesLocked(db, companyId, [{ emailKey: null, phoneIdentity: null, id }], async (tx, [known]) => {
    if (known === undefined) throw contactNotFound()
    await endContact(tx, companyId, id)
  })
}
