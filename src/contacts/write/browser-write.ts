import { createHmac, timingSafeEqual } from 'node:crypto'
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

/** Whether the contact, or one identity, has opted out of a channel. */
type IsOptedOut = (channel: Channel, identity?: string) => boolean

type Existing = Pick<Contact, 'email' | 'phone' | 'emailConsent' | 'whatsappConsent'>

/**
 * Limits a write to what a browser key may do, since every visitor has the key: it can add a missing email or phone,
 * but never change one or end an opt-out. A visitor with a proven identity of the contact may do both. `writableFields`
 * always applies.
 */
export function browserWrite(
  existing: Existing | undefined,
  write: ContactWrite,
  { writableFields, proven }: BrowserRights,
  isOptedOut: IsOptedOut,
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
    const isRefused = present === false || isOptedOut(channel)
    if (isRefused && !isProven) return false
    return identitiesFor(channel, after).every(
      (identity) => trusted.includes(identity) || !isOptedOut(channel, identity),
    )
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
function identitiesFor(channel: Channel, addresses: Addresses): string[] {
  const [first, second] =
    channel === 'email' ? [mailto(addresses), number(addresses)] : [number(addresses), mailto(addresses)]
  return first.length > 0 ? first : second
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

/**
 * Checks each `identityProof`: HMAC-SHA256 in hex of the lower-case email or the phone digits, by the key's secret.
 * Throws 422 for a wrong proof or a key without secret; must reveal nothing about contacts.
 */
export function readProofs(
  writes: readonly ContactWrite[],
  secret: string | null,
  isArray: boolean,
): BrowserRights['proven'][] {
  return writes.map((write, index) => {
    const { identityProof: proof, email, phone } = write
    if (proof === undefined) return { email: false, phone: false }
    const isOf = (identity: string | null | undefined) =>
      secret !== null && typeof identity === 'string' && isProof(proof, secret, identity)
    const proven = { email: isOf(email?.toLowerCase()) || isOf(email && emailKey(email)), phone: isOf(phone) }
    if (!proven.email && !proven.phone) throw wrongProof(secret, isArray ? `${index}.` : '')
    return proven
  })
}

function isProof(proof: string, secret: string, identity: string): boolean {
  const right = createHmac('sha256', secret).update(identity).digest()
  const sent = Buffer.from(proof, 'hex')
  return sent.length === right.length && timingSafeEqual(sent, right)
}

function wrongProof(secret: string | null, at: string) {
  const message =
    secret === null
      ? 'needs a key with an identity secret'
      : 'must be the HMAC-SHA256 in hex of the email in lower case, or of the digits of the phone, with the identity secret'
  return validationError([{ path: `${at}identityProof`, message }])
}
