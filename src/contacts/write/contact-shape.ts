import { type TOptional, type TUnsafe, Type } from 'typebox'
import { asRead } from '../../http/as-read.ts'
import { type NamedAs, TEXT_MEMBERS, type Texts } from '../../people/contact-record.ts'
import { EMAIL_MAX_LENGTH } from '../../platform/text/email-address.ts'
import { ContactReplyShape } from '../contact-reply.ts'
import { CUSTOM_FIELDS_MAX_BYTES, CUSTOM_FIELDS_MAX_KEYS } from './contact-change.ts'

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

const TEXT_SHAPES = Object.fromEntries(
  Object.values(TEXT_MEMBERS).map(({ body, initial, rule }) => [
    body,
    Type.Optional(
      Type.Unsafe({
        type: initial === null ? ['string', 'null'] : 'string',
        ...('enum' in rule ? { maxLength: 64 } : rule),
        description:
          initial === null
            ? 'Null and the empty text remove it.'
            : `A new contact has \`${initial}\`.${'enum' in rule ? ` One of ${rule.enum.join(', ')}; another value as far as the contact has it.` : ''}`,
      }),
    ),
  ]),
) as NamedAs<'body', { [Name in keyof Texts]: TOptional<TUnsafe<Texts[Name]>> }>

const customFields = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  propertyNames: { minLength: 1, maxLength: 100 },
  description: `Any JSON values by key, merged into those of the contact; null removes a key. A contact has at most ${CUSTOM_FIELDS_MAX_KEYS} keys and ${CUSTOM_FIELDS_MAX_BYTES} bytes.`,
})

const written = {
  email: nullable(EMAIL_MAX_LENGTH, 'One address, compared without regard to case. In an update, null removes it.'),
  phone: nullable(
    64,
    'The number with country code, with or without +; spaces, dashes, dots, slashes and parentheses are dropped. Without + and 00 it is first read as a national number of `defaultCountry` of the company. Its length must exist in its country. In an update, null removes it.',
  ),
  ...TEXT_SHAPES,
  tags: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
      maxItems: 100,
      description: 'The tags, which replace all that the contact has.',
    }),
  ),
  customFields: Type.Optional(customFields),
  marketingConsent: Type.Optional(
    Type.Object(
      { email: Type.Optional(Type.Boolean()), whatsapp: Type.Optional(Type.Boolean()) },
      {
        additionalProperties: false,
        description: 'True opts in and false opts out; a channel that is left out keeps its consent.',
      },
    ),
  ),
  identityProof: Type.Optional(
    Type.String({
      pattern: '^[0-9a-fA-F]{64}$',
      description:
        'For keys that hold `ContactsUpsert` alone: the HMAC-SHA256 in hex of the email in lower case, or of the digits of the phone, with the identity secret of the key. It lets the write change email and phone of this contact and end its opt-outs.',
    }),
  ),
}

const Consent = Type.Optional(Type.Unsafe<boolean | null>({ type: ['boolean', 'null'] }))

/** Lets clients write a record back as read. */
const recorded = {
  first_name: TEXT_SHAPES.firstName,
  last_name: TEXT_SHAPES.lastName,
  external_id: TEXT_SHAPES.externalId,
  custom_fields: Type.Optional(customFields),
  marketing_consent: Type.Optional(
    Type.Object(
      { email: Consent, whatsapp: Consent },
      {
        additionalProperties: false,
        description:
          'As `marketingConsent`; null only where the consent is not known. In an update, a value that the contact has already is no new statement.',
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
      'A contact to write, under the names of this shape or of the record. Members that are left out keep their values; those that only the service sets must be as they were read.',
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
