import { type Static, Type } from 'typebox'
import type { Contact, ContactWrite } from './contact-record.ts'

const Text = (description?: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], ...(description && { description }) })
const Flag = Type.Unsafe<boolean | null>({ type: ['boolean', 'null'] })
const At = Type.String({ format: 'date-time' })
const Fields = Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true })

/** The contact record (spec: Contact record), with its additive members. What a contact does not have is null. */
export const ContactReplyShape = Type.Object({
  id: Type.Integer(),
  email: Text(),
  phone: Text('E.164 with +, as given'),
  first_name: Text(),
  last_name: Text(),
  status: Type.String(),
  source: Type.String(),
  source_type: Type.String({ description: '`database`, `third_party`, or the service’s own value.' }),
  created_at: At,
  updated_at: At,
  custom_fields: Fields,
  tags: Type.Array(Type.String()),
  marketing_consent: Type.Object({ email: Flag, whatsapp: Flag }, { description: 'Null: never said.' }),
  company: Type.Integer(),
  deleted: Type.Boolean(),
  external_id: Text(),
  external_connection_id: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
})

export type ContactReply = Static<typeof ContactReplyShape>

export const toContactReply = (companyId: number, contact: Contact): ContactReply => ({
  id: contact.id,
  email: contact.email,
  phone: withPlus(contact.phone),
  first_name: contact.firstName,
  last_name: contact.lastName,
  status: contact.status,
  source: contact.source,
  source_type: contact.sourceType,
  created_at: contact.createdAt.toISOString(),
  updated_at: contact.updatedAt.toISOString(),
  custom_fields: contact.customFields,
  tags: [...contact.tags],
  marketing_consent: { email: contact.emailConsent, whatsapp: contact.whatsappConsent },
  company: companyId,
  deleted: false,
  external_id: contact.externalId,
  external_connection_id: contact.externalConnectionId,
})

const withPlus = (phone: string | null): string | null => (phone === null ? null : `+${phone}`)

/** What a client-side key gets back: members of the record that its own request carried, and nothing else. */
export const OwnFieldsShape = Type.Object(
  {
    email: Type.Optional(Text()),
    phone: Type.Optional(Text()),
    first_name: Type.Optional(Text()),
    last_name: Type.Optional(Text()),
    status: Type.Optional(Type.String()),
    source: Type.Optional(Type.String()),
    source_type: Type.Optional(Type.String()),
    custom_fields: Type.Optional(Fields),
    tags: Type.Optional(Type.Array(Type.String())),
    marketing_consent: Type.Optional(
      Type.Object({ email: Type.Optional(Type.Boolean()), whatsapp: Type.Optional(Type.Boolean()) }),
    ),
  },
  { description: 'To a key that holds only ContactsUpsert: what its own request carried.' },
)

export type OwnFields = Static<typeof OwnFieldsShape>

/** Made from the request alone, never from what is kept: nothing about anybody can be learnt from it. */
export function toOwnFields(write: ContactWrite): OwnFields {
  const { emailConsent, whatsappConsent } = write
  return {
    ...(write.email !== undefined && { email: write.email }),
    ...(write.phone !== undefined && { phone: withPlus(write.phone) }),
    ...(write.firstName !== undefined && { first_name: write.firstName }),
    ...(write.lastName !== undefined && { last_name: write.lastName }),
    ...(write.status !== undefined && { status: write.status }),
    ...(write.source !== undefined && { source: write.source }),
    ...(write.sourceType !== undefined && { source_type: write.sourceType }),
    ...(write.customFields !== undefined && { custom_fields: write.customFields }),
    ...(write.tags !== undefined && { tags: [...write.tags] }),
    ...((emailConsent !== undefined || whatsappConsent !== undefined) && {
      marketing_consent: {
        ...(emailConsent !== undefined && { email: emailConsent }),
        ...(whatsappConsent !== undefined && { whatsapp: whatsappConsent }),
      },
    }),
  }
}
