import { type Static, type TOptional, type TUnsafe, Type } from 'typebox'
import { asRead } from '../http/as-read.ts'
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
import { EMAIL_MAX_LENGTH } from '../platform/text/email-address.ts'
import { CUSTOM_FIELDS_MAX_BYTES, CUSTOM_FIELDS_MAX_KEYS } from './write/contact-change.ts'

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

export const RECORD_ONLY = [
  'id',
  'company',
  'created_at',
  'updated_at',
  'deleted',
  'external_connection_id',
  'email_suppression',
] as const

const nullable = (maxLength: number, description: string) =>
  Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength, description }))

const WRITTEN_TEXTS = Object.fromEntries(
  Object.values(TEXT_MEMBERS).map(({ body, initial, rule }) => [
    body,
    Type.Optional(
      Type.Unsafe({
        type: initial === null ? ['string', 'null'] : 'string',
        ...('enum' in rule ? { maxLength: 64 } : rule),
        description:
          initial === null
            ? 'Null or an empty string removes it.'
            : `Defaults to \`${initial}\` for a new contact.${'enum' in rule ? ` One of ${rule.enum.join(', ')}; another value only if already set.` : ''}`,
      }),
    ),
  ]),
) as NamedAs<'body', { [Name in keyof Texts]: TOptional<TUnsafe<Texts[Name]>> }>

const customFields = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  propertyNames: { minLength: 1, maxLength: 100 },
  description: `Any JSON values by key, merged into the contact's; null removes a key. A contact can have at most ${CUSTOM_FIELDS_MAX_KEYS} keys and ${CUSTOM_FIELDS_MAX_BYTES} bytes.`,
})

const written = {
  email: nullable(EMAIL_MAX_LENGTH, 'One address, compared without regard to case. In an update, null removes it.'),
  phone: nullable(
    64,
    "Number with country code, with or without +; spaces, dashes, dots, slashes and parentheses are dropped. Without + and 00, read first as a national number of the company's `defaultCountry`. The length must exist in the number's country. In an update, null removes it.",
  ),
  ...WRITTEN_TEXTS,
  tags: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
      maxItems: 100,
      description: 'Replaces all tags.',
    }),
  ),
  customFields: Type.Optional(customFields),
  marketingConsent: Type.Optional(
    Type.Object(
      { email: Type.Optional(Type.Boolean()), whatsapp: Type.Optional(Type.Boolean()) },
      {
        additionalProperties: false,
        description: 'True opts in and false opts out; an omitted channel keeps its consent.',
      },
    ),
  ),
  identityProof: Type.Optional(
    Type.String({
      pattern: '^[0-9a-fA-F]{64}$',
      description:
        "For keys with only `ContactsUpsert`: hex HMAC-SHA256 of the lower-case email, or of the phone's digits, with the key's identity secret. Allows the write to change this contact's email and phone and to end opt-outs.",
    }),
  ),
}

const Consent = Type.Optional(Type.Unsafe<boolean | null>({ type: ['boolean', 'null'] }))

/** Lets clients write a record back as read. */
const recorded = {
  first_name: WRITTEN_TEXTS.firstName,
  last_name: WRITTEN_TEXTS.lastName,
  external_id: WRITTEN_TEXTS.externalId,
  custom_fields: Type.Optional(customFields),
  marketing_consent: Type.Optional(
    Type.Object(
      { email: Consent, whatsapp: Consent },
      {
        additionalProperties: false,
        description:
          'Same as `marketingConsent`; null only where consent is unknown. In an update, an unchanged value is not a new statement.',
      },
    ),
  ),
  ...Object.fromEntries(RECORD_ONLY.map((name) => [name, asRead(ContactReplyShape.properties[name])])),
}

/** Contact write body (spec: Contact write body), equal in every encoding. */
export const ContactWriteShape = Type.Object(
  { ...written, ...recorded },
  {
    title: 'ContactWrite',
    additionalProperties: false,
    description:
      'A contact to write, with the names of this schema or of the record. Omitted members keep their values; members set only by the service must match their stored values.',
    example: {
      email: 'ada.rossi@example.com',
      phone: '+393331234567',
      firstName: 'Ada',
      lastName: 'Rossi',
      tags: ['newsletter'],
      customFields: { LOYALTY_TIER: 'gold' },
      marketingConsent: { email: true },
    },
  },
)
