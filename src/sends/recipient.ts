import { findKnownPhones } from '../contacts/known-phone-store.ts'
import type { Db } from '../db/connect.ts'
import { type FieldFault, invalidPhoneNumber } from '../platform/errors.ts'
import { USER_ID } from '../platform/text/phone.ts'
import { readPhone } from '../platform/text/phone-reading.ts'

/** Returns the fault of a recipient that is neither a user id nor the digits of a phone number with country code. */
export function recipientFault(text: string): FieldFault | undefined {
  if (USER_ID.test(text)) return undefined
  const phone = readPhone(text)
  return 'digits' in phone || phone.impossible !== null ? undefined : { path: 'recipient', message: phone.fault }
}

/** Reads a recipient without a fault: a user id, or the digits of a phone number. */
export function readRecipient(text: string): string {
  if (USER_ID.test(text)) return text
  const phone = readPhone(text)
  return 'digits' in phone ? phone.digits : (phone.impossible ?? text)
}

/**
 * Refuses a number whose length does not exist in its country, unless the company knows it: what the provider reported
 * can be written to.
 * @throws {AppError} 422 `invalid_phone_number`
 */
export async function checkRecipient(db: Db, companyId: number, text: string): Promise<void> {
  const phone = USER_ID.test(text) ? undefined : readPhone(text)
  if (phone === undefined || 'digits' in phone || phone.impossible === null) return
  const known = await findKnownPhones(db, companyId, [phone.impossible])
  if (known.size === 0) throw invalidPhoneNumber({ path: 'recipient', message: phone.fault })
}
