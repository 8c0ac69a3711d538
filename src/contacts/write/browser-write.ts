import type { Channel, Contact, ContactWrite } from '../../people/members/contact-record.ts'
import { TEXT_MEMBERS, TEXT_NAMES, textsIn } from '../../people/members/text-members.ts'
import { type FieldFault, validationError } from '../../platform/errors.ts'
import { emailKey } from '../../platform/text/email-address.ts'
import { phoneIdentity } from '../../platform/text/phone.ts'

/** The members that a key of a browser may be limited to; `customFields.<key>` names a single custom field. */
export const WRITABLE_FIELDS: readonly string[] = [
  ...Object.values(TEXT_MEMBERS).map(({ body }) => body),
  'tags',
  'customFields',
  'marketingConsent',
]
const CUSTOM_FIELD = /^customFields\..{1,100}$/su

/** The faults of `writableFields` that its shape cannot find: fields that do not exist. */
export function writableFieldFaults(fields: unknown): FieldFault[] {
  if (!Array.isArray(fields)) return []
  const message = `must be one of ${WRITABLE_FIELDS.join(', ')}, or customFields.<key>`
  return fields.flatMap((field, index) =>
    typeof field !== 'string' || WRITABLE_FIELDS.includes(field) || CUSTOM_FIELD.test(field)
      ? []
      : [{ path: `writableFields[${index}]`, message }],
  )
}

/** @throws {AppError} 422 that names each field that contacts do not have */
export function checkWritableFields(fields: unknown): void {
  const faults = writableFieldFaults(fields)
  if (faults.length > 0) throw validationError(faults)
}

/** The rights of a write by a key of a browser. */
export type BrowserRights = {
  /** Members of a contact, and single custom fields as `customFields.<key>`, that the key may write; null: all. */
  readonly writableFields: readonly string[] | null
  /** The identities of the write that the visitor has proven to have. */
  readonly proven: { readonly email: boolean; readonly phone: boolean }
}

type Existing = Pick<Contact, 'id' | 'email' | 'phone' | 'emailConsent' | 'whatsappConsent'>

/**
 * The part of a write that a key of a browser may make; the rest is left out. Every visitor of the page has the
 * key. It adds the missing email or phone of an existing contact and changes neither, and never ends an opt-out, whether of
 * the contact or kept under an identity (`optOuts`, see `optOutOf`). A visitor who has proven an identity of the contact
 * may do both. `writableFields` holds in each case.
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
    // The consent is for the address of the write.
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

/** An entry of `optOuts`: a channel with an identity, or with a contact, which stands for its other identities. */
export const optOutOf = (channel: Channel, of: string | number): string => `${channel} ${of}`

type Addresses = { email?: string | null | undefined; phone?: string | null | undefined }

const mailto = ({ email }: Addresses): string[] => (email ? [`mailto:${emailKey(email)}`] : [])
const number = ({ phone }: Addresses): string[] => (phone ? [phoneIdentity(phone)] : [])
const identitiesOf = (addresses: Addresses = {}): string[] => [...mailto(addresses), ...number(addresses)]

/** Whether a write names another address than the contact has after it. */
const differ = ([written]: string[], [stored]: string[]): boolean => written !== undefined && written !== stored

const provenIdentities = (write: ContactWrite, { email, phone }: BrowserRights['proven']): string[] => [
  ...(email ? mailto(write) : []),
  ...(phone ? number(write) : []),
]

/** A contact without an address of the channel keeps its consent under the other one. */
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
