import type { Db } from '../../db/connect.ts'
import { isAsRead } from '../../http/as-read.ts'
import {
  type Contact,
  INITIAL_TEXTS,
  type RecordClaim,
  type Texts,
  textsOfRecord,
} from '../../people/contact-record.ts'
import { findContact } from '../../people/contact-store.ts'
import { memberOf } from '../../platform/text/own-member.ts'
import { toContactReply } from '../contact-reply.ts'

const OF_NEW_CONTACT = { ...textsOfRecord<Texts>(INITIAL_TEXTS), marketing_consent: { email: null, whatsapp: null } }

/** Returns claims that differ from the contact (undefined: a new one). The caller must hold the lock. */
export async function findWrongClaims(
  tx: Db,
  companyId: number,
  contact: Contact | undefined,
  claims: readonly RecordClaim[] = [],
): Promise<RecordClaim[]> {
  if (claims.length === 0) return []
  const isSuppressionRead = claims.some(({ member }) => member === 'email_suppression')
  const shown = contact && isSuppressionRead ? await findContact(tx, companyId, contact.id) : contact
  const record = shown === undefined ? OF_NEW_CONTACT : toContactReply(companyId, shown)
  return claims.filter(({ member, value }) => {
    const stored = member.split('.').reduce<unknown>(memberOf, record)
    return !isAsRead(value, stored)
  })
}
