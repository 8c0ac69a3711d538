import type { Db } from '../../db/connect.ts'
import { findKnownPhones } from '../../people/matching/identity-store.ts'
import { memberOf } from '../../platform/text/own-member.ts'
import { type PhoneCountry, readPhone } from '../../platform/text/phone-reading.ts'

export type PhoneRules = {
  readonly country: PhoneCountry | null
  /** Accepted at any length: stored by the provider, or before lengths were checked. */
  readonly known: ReadonlySet<string>
}

type Company = { readonly companyId: number; readonly defaultCountry: PhoneCountry | null }

/** Reads the phone rules for unvalidated bodies. */
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
