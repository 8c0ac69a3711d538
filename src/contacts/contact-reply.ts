import { type Static, type TUnsafe, Type } from 'typebox'
import { nullableInteger, nullableText } from '../http/shapes.ts'
import {
  type Contact,
  type ContactWrite,
  type NamedAs,
  type ShownContact,
  TEXT_MEMBERS,
  type Texts,
  textsOfRecord,
} from '../people/contact-record.ts'

const Flag = Type.Unsafe<boolean | null>({ type: ['boolean', 'null'] })
const At = Type.String({ format: 'date-time' })
const Fields = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  description: 'Custom fields by key.',
})

const TEXT_SHAPES = Object.fromEntries(
  Object.values(TEXT_MEMBERS).map(({ column, initial, description }) => [
    column,
    initial === null ? nullableText(description) : Type.String({ description }),
  ]),
) as NamedAs<'column', { [Name in keyof Texts]: TUnsafe<Texts[Name]> }>

export const CONTACT_EXAMPLE = {
  id: 4127,
  email: 'ada.rossi@example.com',
  phone: '+393331234567',
  first_name: 'Ada',
  last_name: 'Rossi',
  status: 'active',
  source: 'API',
  source_type: 'database',
  external_id: null,
  created_at: '2026-02-27T16:04:11.000Z',
  updated_at: '2026-03-02T09:30:00.000Z',
  custom_fields: { LOYALTY_TIER: 'gold' },
  tags: ['newsletter'],
  marketing_consent: { email: true, whatsapp: null },
  company: 1,
  deleted: false,
  external_connection_id: null,
}

/** Spec: Contact record, with additive members. */
export const ContactReplyShape = Type.Object(
  {
    id: Type.Integer({ description: 'Contact id.' }),
    email: nullableText('Email address.'),
    phone: nullableText('Phone number in E.164 with +.'),
    ...TEXT_SHAPES,
    created_at: At,
    updated_at: At,
    custom_fields: Fields,
    tags: Type.Array(Type.String()),
    marketing_consent: Type.Object(
      { email: Flag, whatsapp: Flag },
      { description: 'Whether the contact wants marketing on a channel; null if unknown.' },
    ),
    company: Type.Integer({ description: 'Company id.' }),
    deleted: Type.Boolean({ description: 'False in answers: only the deletion event shows a deleted contact.' }),
    external_connection_id: nullableInteger('Id of the connection to that system.'),
    email_suppression: Type.Optional(
      Type.Object(
        { reason: Type.Enum(['bounce', 'complaint']), since: At },
        {
          description:
            'Why the address gets no marketing email: a permanent bounce or a spam complaint. Present in reads and events while the address is suppressed; absent in answers to writes.',
        },
      ),
    ),
  },
  {
    title: 'Contact',
    example: CONTACT_EXAMPLE,
  },
)

type ContactReply = Static<typeof ContactReplyShape>

export const toContactReply = (companyId: number, contact: Contact & Partial<ShownContact>): ContactReply => ({
  id: contact.id,
  email: contact.email,
  phone: withPlus(contact.phone),
  ...textsOfRecord<Texts>(contact),
  created_at: contact.createdAt.toISOString(),
  updated_at: contact.updatedAt.toISOString(),
  custom_fields: contact.customFields,
  tags: [...contact.tags],
  marketing_consent: { email: contact.emailConsent, whatsapp: contact.whatsappConsent },
  company: companyId,
  deleted: false,
  external_connection_id: contact.externalConnectionId,
  ...(contact.emailSuppression && {
    email_suppression: {
      reason: contact.emailSuppression.reason,
      since: new Date(contact.emailSuppression.since).toISOString(),
    },
  }),
})

const withPlus = (phone: string | null): string | null => (phone === null ? null : `+${phone}`)

/** Reply to a browser key: the members in its own request. */
export const OwnFieldsShape = Type.Object(
  {
    email: Type.Optional(nullableText('Email address.')),
    phone: Type.Optional(nullableText('Phone number in E.164 with +.')),
    ...Type.Partial(Type.Object(TEXT_SHAPES)).properties,
    custom_fields: Type.Optional(Fields),
    tags: Type.Optional(Type.Array(Type.String())),
    marketing_consent: Type.Optional(
      Type.Object({ email: Type.Optional(Type.Boolean()), whatsapp: Type.Optional(Type.Boolean()) }),
    ),
  },
  {
    description: 'Contact members contained in the request.',
    additionalProperties: false,
    example: { email: 'ada.rossi@example.com', first_name: 'Ada' },
  },
)

type OwnFields = Static<typeof OwnFieldsShape>

/** Builds a reply from the request alone. Must never use stored data, which would reveal whether a contact exists. */
export function toOwnFields(write: ContactWrite): OwnFields {
  const { emailConsent, whatsappConsent } = write
  return {
    ...(write.email !== undefined && { email: write.email }),
    ...(write.phone !== undefined && { phone: withPlus(write.phone) }),
    ...textsOfRecord(write),
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
