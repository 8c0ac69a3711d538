import { type Static, Type } from 'typebox'
import { TEMPLATE_LIMITS, TEMPLATE_TTL } from './template-rules.ts'

/** A bound of our own on the texts that the provider's rules do not bound. */
const LONGEST_TEXT = 4_096

const text = (description: string, maxLength: number = LONGEST_TEXT) =>
  Type.Optional(Type.String({ maxLength, description }))
const example = Type.Optional(
  Type.Unknown({
    description:
      'Samples of the placeholders or of the file, in the form of the provider; for the file of a header also `mediaId`, the id of an uploaded file.',
  }),
)

const Button = Type.Object(
  {
    type: Type.Enum(['QUICK_REPLY', 'URL', 'PHONE_NUMBER', 'COPY_CODE', 'OTP', 'FLOW']),
    text: text('The text of the button.'),
    url: text('The address of a URL button; {{1}} at its end is filled in by each send.', TEMPLATE_LIMITS.url),
    phone_number: text('The number of a PHONE_NUMBER button.', TEMPLATE_LIMITS.phone),
    example,
  },
  { additionalProperties: true, title: 'NewTemplateButton' },
)

const Component = Type.Object(
  {
    type: Type.Enum(['HEADER', 'BODY', 'FOOTER', 'BUTTONS']),
    format: Type.Optional(
      Type.Enum(['TEXT', 'IMAGE', 'VIDEO', 'DOCUMENT', 'LOCATION'], { description: 'Required for a HEADER.' }),
    ),
    text: text('The text, with placeholders such as {{1}} or {{first_name}}.'),
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
    category: Type.Enum(['UTILITY', 'MARKETING', 'AUTHENTICATION']),
    parameterFormat: Type.Optional(
      Type.Enum(['POSITIONAL', 'NAMED'], { description: 'How the placeholders are named; default `POSITIONAL`.' }),
    ),
    components: Type.Array(Component, { minItems: 1, maxItems: 20 }),
    ttlSeconds: Type.Optional(
      Type.Integer({
        minimum: TEMPLATE_TTL.UTILITY.shortest,
        maximum: TEMPLATE_TTL.MARKETING.longest,
        description:
          'For how many seconds the provider tries to deliver a message of the template. AUTHENTICATION: 30 to 900, UTILITY: 30 to 43,200, MARKETING: 43,200 to 2,592,000.',
      }),
    ),
    sender: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        description: 'A connected number of the business account. Without it that of the preferred number.',
      }),
    ),
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
    description: 'The name: lower-case letters, digits and underscores.',
  }),
  language: Type.String({
    pattern: '^[a-z]{2,3}(_[A-Z]{2}|_[0-9]{3})?$',
    description: 'The language, such as `en` or `pt_BR`.',
  }),
})
