import type { Static } from 'typebox'
import type { Db } from '../../db/connect.ts'
import { AS_READ, isAsRead } from '../../http/as-read.ts'
import {
  BODY_NAMES,
  type Contact,
  type ContactWrite,
  INITIAL_TEXTS,
  type RecordClaim,
  TEXT_MEMBERS,
  type Texts,
  textsOfRecord,
} from '../../people/contact-record.ts'
import { findContact } from '../../people/contact-store.ts'
import { badRequest, type FieldFault, invalidPhoneNumber, validationError } from '../../platform/errors.ts'
import { memberOf } from '../../platform/text/json-text.ts'
import { type ContactWriteShape, RECORD_ONLY, toContactReply } from '../contact-shape.ts'

type GivenBody = Static<typeof ContactWriteShape>
export type WriteBody = Omit<GivenBody, 'marketingConsent'> & {
  marketingConsent?: { email?: boolean | null; whatsapp?: boolean | null }
}

const CHANNELS = ['email', 'whatsapp'] as const
const NO_CONSENT = 'must be true or false: a consent that is known cannot become unknown'

export const repeatedFaults = (item: unknown, path: (member: string) => string): FieldFault[] =>
  [...BODY_NAMES].flatMap(([recorded, body]) =>
    memberOf(item, recorded) === undefined || memberOf(item, body) === undefined
      ? []
      : [{ path: path(recorded), message: `is given twice, also as ${body}` }],
  )

type ReadBody = { body: WriteBody; claims: RecordClaim[] }

/** Converts a well-formed body with record names to body names and read-only claims. */
export function readRecord(given: GivenBody, path: (member: string) => string): ReadBody {
  const rules = enumClaims(given, path)
  const refused = new Set<string>([...RECORD_ONLY, ...rules.map(({ member }) => member)])
  const claims = RECORD_ONLY.flatMap((member) => {
    const value = memberOf(given, member)
    return value === undefined ? [] : [toClaim(member, value, path(member), AS_READ)]
  })
  const consents = CHANNELS.flatMap((channel) => {
    const member = `marketing_consent.${channel}`
    return given.marketing_consent?.[channel] === null ? [toClaim(member, null, path(member), NO_CONSENT)] : []
  })
  const members = Object.entries(given).filter(([name]) => !refused.has(name))
  const body: WriteBody = Object.fromEntries(members.map(([name, value]) => [BODY_NAMES.get(name) ?? name, value]))
  return { body, claims: [...claims, ...rules, ...consents] }
}

/** Returns read-only enum values a contact may have, such as the service's own `source_type`. */
export const enumClaims = (item: unknown, path: (member: string) => string): RecordClaim[] =>
  Object.values(TEXT_MEMBERS).flatMap(({ column, body, rule }) => {
    const value = memberOf(item, body)
    if (!('enum' in rule) || typeof value !== 'string' || rule.enum.some((one) => one === value)) return []
    return [toClaim(column, value, path(body), `must be one of ${rule.enum.join(', ')}`)]
  })

const toClaim = (member: string, value: unknown, path: string, message: string): RecordClaim => ({
  member,
  value,
  fault: { path, message, kind: 'value' },
})

/** Throws 422 for claims that differ from the contact (undefined: a new one). The caller must hold the locks. */
export async function refuseWrongClaims(
  tx: Db,
  companyId: number,
  written: readonly { contact: Contact | undefined; claims: ContactWrite['claims'] }[],
): Promise<void> {
  const wrong: RecordClaim[] = []
  for (const { contact, claims = [] } of written) {
    if (claims.length === 0) continue
    const isSuppressionRead = claims.some(({ member }) => member === 'email_suppression')
    const shown = contact && isSuppressionRead ? await findContact(tx, companyId, contact.id) : contact
    const record = shown === undefined ? OF_NEW_CONTACT : toContactReply(companyId, shown)
    wrong.push(
      ...claims.filter(({ member, value }) => !isAsRead(value, member.split('.').reduce<unknown>(memberOf, record))),
    )
  }
  refuseClaims(wrong)
}

const OF_NEW_CONTACT = { ...textsOfRecord<Texts>(INITIAL_TEXTS), marketing_consent: { email: null, whatsapp: null } }

export type ContactFaults = { missing: FieldFault[]; shape: FieldFault[]; email: FieldFault[]; phone: FieldFault[] }

export const noFaults = (): ContactFaults => ({ missing: [], shape: [], email: [], phone: [] })

export function refuseClaims(claims: readonly RecordClaim[]): void {
  const faults = noFaults()
  for (const { fault } of claims) {
    const { kind, path, message } = fault
    faults[kind === 'value' ? 'shape' : kind].push({ path, message })
  }
  throwFaults(faults)
}

export function throwFaults(faults: ContactFaults): void {
  const values = [...faults.shape, ...faults.email, ...faults.phone]
  if (faults.missing.length > 0) {
    throw badRequest('A contact needs an email or a phone', [...faults.missing, ...values])
  }
  if (faults.email.length > 0) throw validationError(values, 'Invalid email format')
  if (faults.shape.length > 0) throw validationError(values)
  if (faults.phone.length > 0) throw invalidPhoneNumber(...faults.phone)
}
