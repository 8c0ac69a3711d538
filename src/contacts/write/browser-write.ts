import {
  type Channel,
  type Contact,
  type ContactWrite,
  TEXT_MEMBERS,
  TEXT_NAMES,
  textsIn,
} from '../../people/contact-record.ts'
import { type FieldFault, validationError } from '../../platform/errors.ts'
import { emailKey } from '../../platform/text/email-address.ts'
import { phoneIdentity } from '../../platform/text/phone.ts'

export const WRITABLE_FIELDS: readonly string[] = [
  ...Object.values(TEXT_MEMBERS).map(({ body }) => body),
  'tags',
  'customFields',
  'marketingConsent',
]
const CUSTOM_FIELD = /^customFields\..{1,100}$/su

export function writableFieldFaults(fields: unknown): FieldFault[] {
  if (!Array.isArray(fields)) return []
  const message = `must be one of ${WRITABLE_FIELDS.join(', ')}, or customFields.<key>`
  return fields.flatMap((field, index) =>
    typeof field !== 'string' || WRITABLE_FIELDS.includes(field) || CUSTOM_FIELD.test(field)
      ? []
      : [{ path: `writableFields[${index}]`, message }],
  )
}

/** Throws 422 with all unknown fields. */
export function checkWritableFields(fields: unknown): void {
  const faults = writableFieldFaults(fields)
  if (faults.length > 0) throw validationError(faults)
}

export type BrowserRights = {
  /** Null allows all fields. */
  readonly writableFields: readonly string[] | null
  readonly proven: { readonly email: boolean; readonly phone: boolean }
}

type Existing = Pick<Contact, 'id' | 'email' | 'phone' | 'emailConsent' | 'whatsappConsent'>

/**
 * Limits a write to what a browser key may do, since every visitor has the key: it can add a missing email or phone,
 * but never change one or end an opt-out of the contact or an identity (`optOuts`, see `optOutOf`). A visitor with a
 * proven identity of the contact may do both. `writableFields` always applies.
 */
export function browserWrite(
  existing: Existing | undefined,
  write: ContactWrite,
  { writableFields, proven }: BrowserRights,
  optOuts: ReadonlySet<string>,
): ContactWrite {
  const { email, phone, emailConsent, whatsappConsent, ...fields } = write
  const own = identitiesOf(existing)
  const isProven = provenIdentities(write, proven).some((identity) => own.includes(identity))
  const addresses = {
    ...(email !== undefined && (isProven || !existing?.email) && { email }),
    ...(phone !== undefined && (isProven || !existing?.phone) && { phone }),
  }
  const after = { email: addresses.email ?? existing?.email, phone: addresses.phone ?? existing?.phone }
  const trusted = [...provenIdentities(write, proven), ...(isProven ? own : [])]
  const mayOptIn = (channel: Channel, present: boolean | null | undefined): boolean => {
    const addressOf = channel === 'email' ? mailto : number
    // Consent is given for the address in the write.
    if (differ(addressOf(write), addressOf(after))) return false
    const isRefused = present === false || (existing !== undefined && optOuts.has(optOutOf(channel, existing.id)))
    if (isRefused && !isProven) return false
    return optedOutIdentities(channel, after, optOuts).every((identity) => trusted.includes(identity))
  }
  const mayConsent = (channel: Channel, value: boolean, present: boolean | null | undefined): boolean =>
    isWritable(writableFields, 'marketingConsent') && (!value || mayOptIn(channel, present))
  return {
    ...addresses,
    ...writableOf(fields, writableFields),
    ...(emailConsent !== undefined && mayConsent('email', emailConsent, existing?.emailConsent) && { emailConsent }),
    ...(whatsappConsent !== undefined &&
      mayConsent('whatsapp', whatsappConsent, existing?.whatsappConsent) && { whatsappConsent }),
  }
}

/** Builds an `optOuts` entry for an identity, or for a contact and its other identities. */
export const optOutOf = (channel: Channel, of: string | number): string => `${channel} ${of}`

type Addresses = { email?: string | null | undefined; phone?: string | null | undefined }

const mailto = ({ email }: Addresses): string[] => (email ? [`mailto:${emailKey(email)}`] : [])
const number = ({ phone }: Addresses): string[] => (phone ? [phoneIdentity(phone)] : [])
const identitiesOf = (addresses: Addresses = {}): string[] => [...mailto(addresses), ...number(addresses)]

const differ = ([written]: string[], [stored]: string[]): boolean => written !== undefined && written !== stored

const provenIdentities = (write: ContactWrite, { email, phone }: BrowserRights['proven']): string[] => [
  ...(email ? mailto(write) : []),
  ...(phone ? number(write) : []),
]

/** Without an address for the channel, consent is kept under the other one. */
function optedOutIdentities(channel: Channel, addresses: Addresses, optOuts: ReadonlySet<string>): string[] {
  const [first, second] =
    channel === 'email' ? [mailto(addresses), number(addresses)] : [number(addresses), mailto(addresses)]
  return (first.length > 0 ? first : second).filter((identity) => optOuts.has(optOutOf(channel, identity)))
}

const isWritable = (writable: readonly string[] | null, field: string): boolean =>
  writable === null || writable.includes(field)

function writableOf(
  { customFields, tags, ...texts }: Omit<ContactWrite, 'email' | 'phone' | 'emailConsent' | 'whatsappConsent'>,
  writable: readonly string[] | null,
): ContactWrite {
  const mayAll = isWritable(writable, 'customFields')
  const chosen = Object.entries(customFields ?? {}).filter(
    ([key]) => mayAll || isWritable(writable, `customFields.${key}`),
  )
  const names = TEXT_NAMES.filter((name) => isWritable(writable, TEXT_MEMBERS[name].body))
  return {
    ...Object.fromEntries(Object.entries(textsIn(texts)).filter(([name]) => names.some((one) => one === name))),
    ...(tags !== undefined && isWritable(writable, 'tags') && { tags }),
    ...(chosen.length > 0 && { customFields: Object.fromEntries(chosen) }),
  }
}
