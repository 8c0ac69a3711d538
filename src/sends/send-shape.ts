import { type Static, type TSchema, Type } from 'typebox'
import { instant } from '../http/shapes.ts'
import { CONTACT_CARDS_EXAMPLE, ContactCardsShape } from './content/contact-cards-shape.ts'
import { InteractiveShape, REPLY_BUTTONS_EXAMPLE } from './content/interactive-shape.ts'
import { messageId, REACTION_EXAMPLE, ReactionShape } from './content/reaction-shape.ts'

export const OWN_MEMBERS = ['text', 'template', 'interactive', 'location', 'contacts', 'reaction'] as const
export const MEDIA_KINDS = ['image', 'video', 'audio', 'document', 'sticker'] as const

/** Provider limits on Direct Send. */
export const LONGEST_TTL_SECONDS = { utility: 43_200, authentication: 900 } as const

const mediaId = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'Media id from `uploadMedia`.',
})

/** Other members pass to the provider unchanged. */
const headerFile = (kind: string) =>
  Type.Object(
    { mediaId: Type.Optional(mediaId) },
    {
      additionalProperties: true,
      description: `Header ${kind}: \`mediaId\`, or the provider's \`link\` or \`id\`.`,
    },
  )

const Parameter = Type.Object(
  {
    type: Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'Kind, mostly `text`. Parameters of other kinds are passed to the provider unchanged.',
    }),
    text: Type.Optional(Type.String({ minLength: 1, maxLength: 32_768 })),
    parameter_name: Type.Optional(
      Type.String({ minLength: 1, maxLength: 128, description: 'Named placeholder to fill.' }),
    ),
    image: Type.Optional(headerFile('image')),
    video: Type.Optional(headerFile('video')),
    document: Type.Optional(headerFile('document')),
  },
  { additionalProperties: true, title: 'TemplateParameter' },
)

const Component = Type.Object(
  {
    type: Type.Enum(['HEADER', 'BODY', 'FOOTER', 'BUTTONS']),
    parameters: Type.Optional(Type.Array(Parameter, { maxItems: 100 })),
  },
  { title: 'TemplateComponent' },
)

const familyName = Type.String({ minLength: 1, maxLength: 512, description: 'Template name.' })
const familyId = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'Family id from the template list.',
})
const filling = {
  languageCode: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 16,
      description: 'Language; `en_US`, `en-US` and `en_us` are the same. If omitted, the service chooses one.',
    }),
  ),
  components: Type.Optional(Type.Array(Component, { maxItems: 20, description: 'Placeholder values.' })),
}
const link = Type.String({
  maxLength: 2048,
  description: 'An https URL from which the provider downloads the file.',
})
const providerMediaId = Type.String({
  minLength: 1,
  maxLength: 256,
  description: 'Provider file id, uploaded to the sending number.',
})
const caption = Type.String({ maxLength: 1024, description: 'Text below the file.' })
const filename = Type.String({ maxLength: 240, description: 'File name shown to the customer.' })
const voice = Type.Boolean({
  description: 'Sends audio as a voice note; the file must be Ogg with Opus.',
})

const text = Type.String({ minLength: 1, maxLength: 4096, description: 'Message text.' })
const previewUrl = Type.Optional(
  Type.Boolean({ description: 'Whether to preview the first link in the text; default false.' }),
)
const common = {
  recipient: Type.String({
    maxLength: 200,
    description:
      "Phone number with country code, with or without +, or the provider’s user id if the customer hides the number. Spaces, dashes, dots, slashes and parentheses are dropped. A new number's length must exist in its country.",
  }),
  sender: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 128,
      description: 'A connected number in any formatting, or its `phoneNumberId`. Defaults to the preferred number.',
    }),
  ),
  contactSource: Type.Optional(
    Type.String({ minLength: 1, maxLength: 64, description: 'Contact source, if this send creates the contact.' }),
  ),
  companyId: Type.Optional(Type.Unknown({ deprecated: true, description: 'Ignored.' })),
}
const sendAt = Type.Optional(
  instant(
    'When to send the message, at most 30 days ahead; the answer is 202. Limits, window and consent are checked at that time.',
  ),
)
const quoted = Type.Optional(messageId('Message id from the same conversation, shown above this one.'))

const bodyOf = (
  title: string,
  type: (typeof OWN_MEMBERS)[number] | (typeof MEDIA_KINDS)[number],
  content: Record<string, TSchema>,
  example: object,
) =>
  Type.Object(
    { ...common, type: Type.Literal(type), ...content, ...(type !== 'reaction' && { quoted, sendAt }) },
    { title, example: { recipient: '393331234567', type, ...example } },
  )
const templateBy = (title: string, member: Record<string, TSchema>) => Type.Object({ ...member, ...filling }, { title })
type MediaMembers = {
  link?: string
  providerMediaId?: string
  mediaId?: string
  caption?: string
  filename?: string
  voice?: boolean
}
const mediaBy = (name: string, more: Record<string, TSchema>) =>
  Type.Unsafe<MediaMembers>({
    oneOf: [
      Type.Object({ link: { ...link, pattern: '^[hH][tT][tT][pP][sS]://' }, ...more }, { title: `${name}ByLink` }),
      Type.Object({ providerMediaId, ...more }, { title: `${name}ById` }),
      Type.Object({ mediaId, ...more }, { title: `${name}ByMediaId` }),
    ],
  })
const templateShape = Type.Unsafe<
  { name?: string; id?: string } & Static<ReturnType<typeof Type.Object<typeof filling>>>
>({
  oneOf: [templateBy('TemplateByName', { name: familyName }), templateBy('TemplateById', { id: familyId })],
})
const audioMedia = mediaBy('Audio', { filename: Type.Optional(filename), voice: Type.Optional(voice) })
const captionedMedia = mediaBy('CaptionedMedia', { caption: Type.Optional(caption), filename: Type.Optional(filename) })
const stickerMedia = mediaBy('Sticker', {})
const anyMedia = mediaBy('AnyMedia', {
  caption: Type.Optional(caption),
  filename: Type.Optional(filename),
  voice: Type.Optional(voice),
})
const LONGEST_LINE = 1_000

const LocationShape = Type.Object(
  {
    latitude: Type.Number({ minimum: -90, maximum: 90, description: 'In degrees.' }),
    longitude: Type.Number({ minimum: -180, maximum: 180, description: 'In degrees.' }),
    name: Type.Optional(Type.String({ minLength: 1, maxLength: LONGEST_LINE, description: 'Place name.' })),
    address: Type.Optional(Type.String({ minLength: 1, maxLength: LONGEST_LINE, description: 'Address.' })),
  },
  { title: 'Location', additionalProperties: false, description: 'A place on the map.' },
)
export type Location = Static<typeof LocationShape>

const LOCATION_EXAMPLE = {
  latitude: 41.9028,
  longitude: 12.4964,
  name: 'Rossi Shoes',
  address: 'Via del Corso 12, Roma',
} satisfies Location

const directSendMembers = {
  category: Type.Optional(
    Type.Enum(['utility', 'authentication'], {
      description:
        "Sends a text, reply buttons or a call to action without a template and without an open window, if the provider has enabled this for the account (the number's `directSend`).",
    }),
  ),
  ttlSeconds: Type.Optional(
    Type.Integer({
      minimum: 30,
      maximum: LONGEST_TTL_SECONDS.utility,
      description:
        'With `category`: how many seconds the provider tries to deliver the message; at most 900 with `authentication`.',
    }),
  ),
}

const fileAt = (path: string, more: object = {}) => ({ media: { link: `https://cdn.example.com/${path}`, ...more } })

const content = {
  type: Type.Enum(['text', 'template', ...MEDIA_KINDS, 'interactive', 'location', 'contacts', 'reaction']),
  text: Type.Optional(text),
  previewUrl,
  template: Type.Optional(templateShape),
  media: Type.Optional(anyMedia),
  interactive: Type.Optional(InteractiveShape),
  location: Type.Optional(LocationShape),
  contacts: Type.Optional(ContactCardsShape),
  reaction: Type.Optional(ReactionShape),
  ...directSendMembers,
  quoted,
  sendAt,
}

export const sendMembers = { ...common, ...content }
export type SendBody = Static<ReturnType<typeof Type.Object<typeof sendMembers>>>

/** One shape per `type`; `sendFaults` refuses what shapes can't express. */
export const SendBody = Type.Unsafe<SendBody>({
  type: 'object',
  required: ['recipient', 'type'],
  oneOf: [
    bodyOf('SendText', 'text', { text, previewUrl, ...directSendMembers }, { text: 'Your order 1042 is ready.' }),
    bodyOf(
      'SendTemplate',
      'template',
      {
        template: templateShape,
      },
      {
        template: {
          name: 'order_update',
          languageCode: 'en',
          components: [
            {
              type: 'BODY',
              parameters: [
                { type: 'text', text: 'Ada' },
                { type: 'text', text: '1042' },
              ],
            },
          ],
        },
      },
    ),
    bodyOf('SendImage', 'image', { media: captionedMedia }, fileAt('shoe.jpg', { caption: 'Size 42' })),
    bodyOf('SendVideo', 'video', { media: captionedMedia }, fileAt('fitting.mp4')),
    bodyOf('SendAudio', 'audio', { media: audioMedia }, fileAt('note.ogg')),
    bodyOf('SendDocument', 'document', { media: captionedMedia }, fileAt('1042.pdf', { filename: 'Invoice 1042.pdf' })),
    bodyOf('SendSticker', 'sticker', { media: stickerMedia }, fileAt('thanks.webp')),
    bodyOf(
      'SendInteractive',
      'interactive',
      { interactive: InteractiveShape, ...directSendMembers },
      { interactive: REPLY_BUTTONS_EXAMPLE },
    ),
    bodyOf('SendLocation', 'location', { location: LocationShape }, { location: LOCATION_EXAMPLE }),
    bodyOf('SendContacts', 'contacts', { contacts: ContactCardsShape }, { contacts: CONTACT_CARDS_EXAMPLE }),
    bodyOf('SendReaction', 'reaction', { reaction: ReactionShape }, { reaction: REACTION_EXAMPLE }),
  ],
  discriminator: { propertyName: 'type' },
  title: 'SendRequest',
})

export const ContentBody = Type.Object(content, {
  title: 'MessageContent',
  description:
    'The member with the same name is required, such as `text` or `location`; for an image, video, audio, document or sticker, `media`.',
  example: { type: 'text', text: 'Your order 1042 is ready.' },
})
export type ContentBody = Static<typeof ContentBody>
