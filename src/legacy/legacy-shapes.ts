import { type Static, Type } from 'typebox'
import { ContactWriteShape } from '../contacts/contact-shape.ts'
import { UPSERT_MAX_CONTACTS } from '../contacts/write/contact-upsert.ts'
import { TemplateEmailBody } from '../emails/email-shape.ts'
import { isRecord } from '../platform/text/json-text.ts'
import { sendMembers } from '../sends/send-shape.ts'

export const LegacySend = Type.Object(
  {
    ...sendMembers,
    template: Type.Optional(unnamed(sendMembers.template)),
    media: Type.Optional(unnamed(sendMembers.media)),
  },
  { title: 'LegacySend', example: { recipient: '393331234567', type: 'text', text: 'Your order 1042 is ready.' } },
)
export type LegacySend = Static<typeof LegacySend>

export const LegacyTemplateEmail = Type.Object(TemplateEmailBody.properties, {
  title: 'LegacyTemplateEmail',
  example: { uid: 'tmpl_8d41f0c2a96b', recipient: 'ada.rossi@example.com', customFields: { first_name: 'Ada' } },
})

const { email, phone, tags, customFields, marketingConsent, identityProof, ...others } = ContactWriteShape.properties
const { firstName, lastName, status, source, source_type } = others
const members = { email, phone, firstName, lastName, status, source, source_type, tags, customFields, identityProof }

const LegacyContact = Type.Object(
  { ...members, marketingConsent: Type.Optional(Type.Object(marketingConsent.properties)) },
  { title: 'LegacyContact', example: { email: 'ada.rossi@example.com', firstName: 'Ada' } },
)

export const LegacyContacts = Type.Union([
  LegacyContact,
  Type.Array(LegacyContact, { minItems: 1, maxItems: UPSERT_MAX_CONTACTS }),
])

export const withoutUnknown = (body: unknown): unknown =>
  Array.isArray(body) ? body.map(knownOf) : isRecord(body) ? knownOf(body) : body

function knownOf(contact: unknown): unknown {
  if (!isRecord(contact)) return contact
  const { marketingConsent: consent, ...known } = pick(contact, Object.keys(LegacyContact.properties))
  if (consent === undefined) return known
  return { ...known, marketingConsent: isRecord(consent) ? pick(consent, ['email', 'whatsapp']) : consent }
}

const pick = (object: object, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(Object.entries(object).filter(([name]) => names.includes(name)))

/** Drops titles, since the API reference would confuse these with the closed schemas. */
function unnamed<Shape>(shape: Shape): Shape
function unnamed(shape: unknown): unknown {
  if (Array.isArray(shape)) return shape.map((one) => unnamed(one))
  if (!isRecord(shape)) return shape
  const members = Object.entries(shape).filter(([name, value]) => name !== 'title' || typeof value !== 'string')
  return Object.fromEntries(members.map(([name, value]) => [name, unnamed(value)]))
}
