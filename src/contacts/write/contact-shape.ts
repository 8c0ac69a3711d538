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
  ...TEXT_SHAPES,
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
