import { type Static, Type } from 'typebox'
import { asRead } from '../../http/as-read.ts'
import { validationError } from '../../platform/errors.ts'
import { TemplateRecord } from '../template-record.ts'
import {
  BUTTON_TYPES,
  COMPONENT_TYPES,
  HEADER_FORMATS,
  TEMPLATE_CATEGORIES,
  TEMPLATE_LIMITS,
  TEMPLATE_TTL,
} from './template-rules.ts'

/** Our own limit where the provider has none. */
const LONGEST_TEXT = 4_096

const text = (description: string, maxLength: number = LONGEST_TEXT) =>
  Type.Optional(Type.String({ maxLength, description }))
const example = Type.Optional(
  Type.Unknown({
    description:
      "Samples for placeholders or file, in the provider's format; for a header file also `mediaId`, the id of an uploaded file.",
  }),
)

/** Not an enum: existing templates may have kinds we cannot create. */
const word = (description: string) => Type.String({ minLength: 1, maxLength: 64, description })
const ttl = (description: string) =>
  Type.Optional(
    Type.Integer({
      minimum: TEMPLATE_TTL.UTILITY.shortest,
      maximum: TEMPLATE_TTL.MARKETING.longest,
      description,
    }),
  )

export const TEMPLATE_SERVICE_MEMBERS = [
  'id',
  'name',
  'language',
  'status',
  'namespace',
  'waba_account_id',
  'partner_id',
  'created_at',
  'modified_at',
  'updated_external',
  'rejected_reason',
  'external_id',
  'created_by',
  'modified_by',
  'quality_score',
] as const

const Button = Type.Object(
  {
    type: word(`Kind: ${BUTTON_TYPES.join(', ')}.`),
    text: text('Button text.'),
    url: text('URL of a URL button; each send fills in a trailing {{1}}.', TEMPLATE_LIMITS.url),
    phone_number: text('Number of a PHONE_NUMBER button.', TEMPLATE_LIMITS.phone),
    example,
  },
  { additionalProperties: true, title: 'NewTemplateButton' },
)

const Component = Type.Object(
  {
    type: word(`Kind: ${COMPONENT_TYPES.join(', ')}.`),
    format: Type.Optional(word(`Required for a HEADER: ${HEADER_FORMATS.join(', ')}.`)),
    text: text('Text, with placeholders such as {{1}} or {{first_name}}.'),
    example,
    buttons: Type.Optional(Type.Array(Button, { maxItems: TEMPLATE_LIMITS.buttons })),
  },
  { additionalProperties: true, title: 'NewTemplateComponent' },
)

export const CONTENTS_EXAMPLE = {
  category: 'UTILITY',
  components: [
    {
      type: 'BODY',
      text: 'Hello {{1}}, your order {{2}} is on its way.',
      example: { body_text: [['Ada', '1042']] },
    },
    { type: 'FOOTER', text: 'Rossi Shoes' },
  ],
}

export const TemplateBody = Type.Object(
  {
    category: word(`${TEMPLATE_CATEGORIES.join(', ')}.`),
    parameterFormat: Type.Optional(
      Type.Enum(['POSITIONAL', 'NAMED'], {
        description: 'How placeholders are named; by default as in the existing template, else `POSITIONAL`.',
      }),
    ),
    components: Type.Array(Component, { minItems: 1, maxItems: 20 }),
    ttlSeconds: ttl(
      "How many seconds the provider tries to deliver the template's messages. AUTHENTICATION: 30 to 900, UTILITY: 30 to 43,200, MARKETING: 43,200 to 2,592,000.",
    ),
    message_send_ttl_seconds: ttl("The record's name for `ttlSeconds`."),
    sender: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        description: "A connected number of the business account. Defaults to the preferred number's account.",
      }),
    ),
    ...Object.fromEntries(TEMPLATE_SERVICE_MEMBERS.map((name) => [name, asRead(TemplateRecord.properties[name])])),
  },
  {
    title: 'TemplateContents',
    example: CONTENTS_EXAMPLE,
  },
)
export type TemplateBody = Static<typeof TemplateBody>

export const TemplatePlace = Type.Object({
  name: Type.String({
    pattern: '^[a-z0-9_]+$',
    maxLength: TEMPLATE_LIMITS.name,
    description: 'Name: lower-case letters, digits and underscores.',
  }),
  language: Type.String({
    pattern: '^[a-z]{2,3}(_[A-Z]{2}|_[0-9]{3})?$',
    description: 'Language, such as `en` or `pt_BR`.',
  }),
})

export function toTemplateRequest(body: Omit<TemplateBody, 'sender'>) {
  const { category, parameterFormat, components, ttlSeconds, message_send_ttl_seconds: recordedTtl, ...recorded } = body
  if (ttlSeconds !== undefined && recordedTtl !== undefined) {
    throw validationError([{ path: 'message_send_ttl_seconds', message: 'is given twice, also as ttlSeconds' }])
  }
  return { category, parameterFormat, components, ttlSeconds: ttlSeconds ?? recordedTtl, recorded }
}
