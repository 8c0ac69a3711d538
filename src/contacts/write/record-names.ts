import type { Static } from 'typebox'
import { AS_READ } from '../../http/as-read.ts'
import { BODY_NAMES, type RecordClaim, TEXT_MEMBERS } from '../../people/contact-record.ts'
import type { FieldFault } from '../../platform/errors.ts'
import { memberOf } from '../../platform/text/own-member.ts'
import { type ContactWriteShape, RECORD_ONLY } from './contact-shape.ts'

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
      : [{ path: path(recorded), message: `is there twice, also as ${body}` }],
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
