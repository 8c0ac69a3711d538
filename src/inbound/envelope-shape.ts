import { Type } from 'typebox'
import { PROVIDER_NAMES } from '../providers/provider-name.ts'

const Nullable = <T extends Parameters<typeof Type.Union>[0][number]>(shape: T) => Type.Union([shape, Type.Null()])
const NullableText = Nullable(Type.String())
const ProvidersOwn = (description: string) => Nullable(Type.Object({}, { additionalProperties: true, description }))

const Media = Type.Object({
  kind: Type.Enum(['image', 'video', 'audio', 'document']),
  mimeType: NullableText,
  filename: NullableText,
  caption: NullableText,
  voice: Type.Boolean({ description: 'A voice note' }),
  providerMediaId: NullableText,
})

const Reply = Type.Object(
  {
    id: Nullable(Type.String({ description: 'Of the button or the row of a list' })),
    title: NullableText,
    payload: Nullable(Type.String({ description: 'Of a template’s button' })),
    responseJson: Nullable(Type.String({ description: 'The answers of a flow, as JSON text' })),
  },
  { description: 'What the customer chose' },
)

const Message = Type.Object({
  wamid: Type.String(),
  type: Type.String({ description: 'The provider’s type; a sticker is an `image`, a voice note an `audio`' }),
  text: Nullable(
    Type.String({
      description: 'Text, caption, title of a button, new text of an edit, or a placeholder such as `[image]`',
    }),
  ),
  media: Type.Optional(Media),
  reaction: Type.Optional(Type.Object({ targetWamid: NullableText, emoji: NullableText })),
  isEcho: Type.Boolean({ description: 'Written by the business in its phone app' }),
  timestamp: Nullable(Type.Integer({ description: 'Epoch seconds' })),
  timestampIso: Nullable(Type.String({ format: 'date-time' })),
  reply: Nullable(Reply),
  quotedWamid: Nullable(Type.String({ description: 'The message that this one answers' })),
  originalWamid: Nullable(Type.String({ description: 'The message that this one edits or revokes' })),
  groupId: Nullable(Type.String({ description: 'The group that it was written in; `contact` is the writer' })),
  referral: ProvidersOwn('The ad or post that the customer came from, as the provider gave it'),
  location: ProvidersOwn('As the provider gave it'),
  contacts: Nullable(Type.Array(Type.Unknown(), { description: 'Contact cards, as the provider gave them' })),
  order: ProvidersOwn('As the provider gave it'),
})

/** What a receiver gets for each message (spec: Envelope; decisions: Envelope). */
export const Envelope = Type.Object({
  version: Type.Literal('1'),
  event: Type.Literal('whatsapp.message.received'),
  companyId: Type.Integer(),
  channel: Type.Object({
    provider: Type.Enum(PROVIDER_NAMES),
    phoneNumber: NullableText,
    channelId: Nullable(Type.Integer()),
  }),
  contact: Type.Object({
    phone: Nullable(Type.String({ description: 'Digits; null while the customer hides the phone' })),
    name: NullableText,
    userId: Nullable(Type.String({ description: 'The provider’s user id' })),
  }),
  message: Message,
  raw: Type.Object({}, { additionalProperties: true, description: 'The provider’s JSON for this message alone' }),
})

/** The requests that this service makes, in the words of OpenAPI. */
export const RECEIVER_EVENTS = {
  'whatsapp.message.received': {
    post: {
      tags: ['Webhook registrations'],
      operationId: 'receiveMessage',
      summary: 'A customer, or the business in its phone app, wrote',
      description: 'Sent to each registration, signed with its secret. Any 2xx within 10 seconds counts as received.',
      security: [],
      requestBody: { required: true, content: { 'application/json': { schema: Envelope } } },
      responses: { '200': { description: 'Received' } },
    },
  },
}
