import { findKnownPhones } from '../contacts/known-phone-store.ts'
import type { Db } from '../db/connect.ts'
import { type FieldFault, invalidPhoneNumber } from '../platform/errors.ts'
import { USER_ID } from '../platform/text/phone.ts'
import { readPhone } from '../platform/text/phone-reading.ts'

/** Returns a fault unless a user id or phone digits with country code. */
export function recipientFault(text: string): FieldFault | undefined {
  if (USER_ID.test(text)) return undefined
  const phone = readPhone(text)
  return 'digits' in phone || phone.impossible !== null ? undefined : { path: 'recipient', message: phone.fault }
}

export function readRecipient(text: string): string {
  if (USER_ID.test(text)) return text
  const phone = readPhone(text)
  return 'digits' in phone ? phone.digits : (phone.impossible ?? text)
}

/** 422 `invalid_phone_number` for a length unknown in the country, unless the company knows the number. */
export async function checkRecipient(db: Db, companyId: number, text: string): Promise<void> {
  const phone = USER_ID.test(text) ? undefined : readPhone(text)
  if (phone === undefined || 'digits' in phone || phone.impossible === null) return
  const known = await findKnownPhones(db, companyId, [phone.impossible])
  if (known.size === 0) throw invalidPhoneNumber({ path: 'recipient', message: phone.fault })
}
