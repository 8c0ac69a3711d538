import { Type } from 'typebox'
import { nullableInteger, nullableText, nullableTime } from '../http/shapes.ts'
import { PROVIDER_NAMES } from '../providers/provider-name.ts'

const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(shape: T) => Type.Union([shape, Type.Null()])
const ProvidersOwn = (description: string) => orNull(Type.Object({}, { additionalProperties: true, description }))

const Media = Type.Object(
  {
    kind: Type.Enum(['image', 'video', 'audio', 'document'], { description: 'A sticker is an `image`.' }),
    mimeType: nullableText('The MIME type.'),
    filename: nullableText('The name of the file.'),
    caption: nullableText('The text below the file.'),
    voice: Type.Boolean({ description: 'Whether the file is a voice note.' }),
    providerMediaId: nullableText('The id of the file at the provider.'),
  },
  { title: 'EnvelopeMedia' },
)

const Reply = Type.Object(
  {
    id: nullableText('The id of the button or of the row of a list.'),
    title: nullableText('The title of the button or row.'),
    payload: nullableText('The payload of the button of a template.'),
    responseJson: nullableText('The answers of a flow, as JSON text.'),
  },
  { title: 'EnvelopeReply', description: 'The choice of the customer.' },
)

const Message = Type.Object(
  {
    wamid: Type.String({ description: 'The id of the message at the provider.' }),
    type: Type.String({
      description: 'The type of the provider, except that a sticker is an `image` and a voice note an `audio`.',
    }),
    text: nullableText('The text, caption, button title or new text of an edit, else a placeholder such as `[image]`.'),
    media: Type.Optional(Media),
    reaction: Type.Optional(
      Type.Object(
        {
          targetWamid: nullableText('The message that the reaction is for.'),
          emoji: nullableText('The emoji; null when the reaction was removed.'),
        },
        { title: 'EnvelopeReaction' },
      ),
    ),
    isEcho: Type.Boolean({ description: 'Whether the business wrote the message in its phone app.' }),
    timestamp: nullableInteger('The time in epoch seconds.'),
    timestampIso: nullableTime('The same time in ISO 8601.'),
    reply: orNull(Reply),
    quotedWamid: nullableText('The message that this one answers.'),
    originalWamid: nullableText('The message that this one edits or revokes.'),
    groupId: nullableText('The group of the message; `contact` is the writer.'),
    referral: ProvidersOwn('The ad or post that the customer came from, as the provider describes it.'),
    location: ProvidersOwn('The location as the provider describes it.'),
    contacts: orNull(
      Type.Array(Type.Object({}, { additionalProperties: true }), {
        description: 'The shared contact cards as the provider describes them.',
      }),
    ),
    order: ProvidersOwn('The order as the provider describes it.'),
  },
  { title: 'EnvelopeMessage' },
)

/** An envelope as a receiver gets it. */
const EXAMPLE = {
  version: '1',
  event: 'whatsapp.message.received',
  companyId: 1,
  channel: { provider: PROVIDER_NAMES[0], phoneNumber: '390655501234', channelId: 3 },
  contact: { phone: '393331234567', name: 'Ada Rossi', userId: null },
  message: {
    wamid: 'wamid.HBgMMzkzMzMx',
    type: 'text',
    text: 'Is my order ready?',
    isEcho: false,
    timestamp: 1772443800,
    timestampIso: '2026-03-02T09:30:00.000Z',
    reply: null,
    quotedWamid: null,
    originalWamid: null,
    groupId: null,
    referral: null,
    location: null,
    contacts: null,
    order: null,
  },
  raw: { object: 'whatsapp_business_account', entry: [] },
}

/** The body that a receiver gets for each message (spec: Envelope; decisions: Envelope). */
export const Envelope = Type.Object(
  {
    version: Type.Literal('1', { description: 'The version of the envelope; additions do not change it.' }),
    event: Type.Literal('whatsapp.message.received'),
    companyId: Type.Integer({ description: 'The id of the company.' }),
    channel: Type.Object({
      provider: Type.Enum(PROVIDER_NAMES),
      phoneNumber: nullableText('The digits of the number that received the message.'),
      channelId: nullableInteger('The id of the number.'),
    }),
    contact: Type.Object({
      phone: nullableText('Digits; null while the customer hides the phone number.'),
      name: nullableText('The profile name.'),
      userId: nullableText('The user id at the provider.'),
    }),
    message: Message,
    raw: Type.Object(
      {},
      {
        additionalProperties: true,
        description: 'The JSON of the provider for this message, not part of the contract.',
      },
    ),
  },
  { title: 'Envelope', example: EXAMPLE },
)

const header = (name: string, required: boolean, description: string) => ({
  name,
  in: 'header',
  required,
  description,
  schema: { type: 'string' },
})

/** The requests that this service makes, in the words of OpenAPI; `serviceName` is part of the names of headers. */
export const receiverEvents = (serviceName: string) => ({
  'whatsapp.message.received': {
    post: {
      tags: ['Webhook registrations'],
      operationId: 'receiveMessage',
      summary: 'Receive a message',
      description:
        'A customer wrote a message, or the business wrote one in its phone app. The request goes to each active registration. Any 2xx within 10 seconds counts as received; everything else is retried, five attempts in all. A registration with the method `GET` gets the same body and headers with GET.',
      security: [],
      parameters: [
        header(`X-${serviceName}-Event`, true, 'The name of the event.'),
        header(
          `X-${serviceName}-Delivery`,
          true,
          'The wamid of the message, by which receivers recognise repetitions.',
        ),
        header(`X-${serviceName}-Webhook-Id`, true, 'The id of the registration.'),
        header(
          `X-${serviceName}-Signature`,
          false,
          'HMAC-SHA256 of the body in hex, keyed with the secret. Present when the registration has a secret.',
        ),
        header('webhook-id', false, 'The wamid, for receivers that verify Standard Webhooks.'),
        header('webhook-timestamp', false, 'The time of the attempt in epoch seconds, for Standard Webhooks.'),
        header('webhook-signature', false, 'The signature of Standard Webhooks, `v1,` and base64.'),
      ],
      requestBody: {
        required: true,
        description: 'The envelope.',
        content: { 'application/json': { schema: Envelope } },
      },
      responses: {
        '200': { description: 'The receiver has the message.' },
        '4XX': { description: 'The attempt failed.' },
        '5XX': { description: 'The attempt failed.' },
      },
    },
  },
})
