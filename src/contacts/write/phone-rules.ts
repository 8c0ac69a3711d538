import type { Db } from '../../db/connect.ts'
import { memberOf } from '../../platform/text/own-member.ts'
import { type PhoneCountry, readPhone } from '../../platform/text/phone-reading.ts'
import { findKnownPhones } from '../known-phone-store.ts'

/** How the phones of a company are read. */
export type PhoneRules = {
  /** Country of national numbers. */
  readonly country: PhoneCountry | null
  /** Numbers accepted whatever their length: contacts and customers of the company have them. */
  readonly known: ReadonlySet<string>
}

type Company = { readonly companyId: number; readonly defaultCountry: PhoneCountry | null }

/**
 * Reads the rules for the phones of some unchecked bodies. A number that came from the provider, or was stored before
 * lengths were checked, can be written back.
 */
export async function readPhoneRules(
  db: Db,
  { companyId, defaultCountry: country }: Company,
  bodies: readonly unknown[],
): Promise<PhoneRules> {
  const impossible = bodies.flatMap((body) => {
    const text = memberOf(body, 'phone')
    const phone = typeof text === 'string' ? readPhone(text, country) : undefined
    return phone === undefined || 'digits' in phone || phone.impossible === null ? [] : [phone.impossible]
  })
  return { country, known: await findKnownPhones(db, companyId, impossible) }
}
