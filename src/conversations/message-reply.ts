import { type Static, Type } from 'typebox'
import { nullableInteger, nullableText, nullableTime, Timestamp } from '../http/shapes.ts'
import {
  ERROR,
  MESSAGE_MEMBERS,
  type StructuredContent,
  StructuredContentShape,
  toReplyMember,
} from './content/message-content.ts'
import type { Message, StoredMessageDetails } from './conversation-store.ts'
import { MessagePrice } from './usage/usage-shape.ts'

export const Direction = Type.Enum(['inbound', 'outbound'], {
  description: 'Inbound messages come from the customer, outbound ones from the business.',
})

export const MessageStatus = Type.Enum(['received', 'pending', 'sent', 'delivered', 'read', 'failed', 'unknown'], {
  description: "Inbound messages are `received`. `unknown` means the provider didn't answer the send.",
})

export const MESSAGE_EXAMPLE = {
  id: 90217,
  wamid: 'wamid.HBgMMzkzMzMx',
  direction: 'inbound',
  type: 'image',
  text: 'Is this the right size?',
  media: {
    url: 'https://parley.example.com/media/c2lnbmVk.MTc3MzA0ODYwMA',
    type: 'image/jpeg',
    filename: null,
    voice: false,
  },
  reaction: null,
  status: 'received',
  error: null,
  pricing: null,
  senderName: 'Ada Rossi',
  timestamp: 1772443800,
  timestampIso: '2026-03-02T09:30:00.000Z',
  editedAt: null,
  revokedAt: null,
  content: null,
  quotedWamid: null,
  quotedMessageId: null,
  kind: 'image',
  reply: null,
  location: null,
  contacts: null,
  order: null,
  referral: null,
  forwarded: false,
  frequentlyForwarded: false,
  referredProduct: null,
  call: null,
  quoted: null,
}

const QuotedMessage = Type.Union([
  Type.Object(
    {
      id: Type.Integer({ description: 'Message id.' }),
      wamid: Type.String({ description: 'Message id at the provider.' }),
      direction: Direction,
      kind: Type.String({ description: 'Message kind.' }),
      text: nullableText('First 500 characters of the text, caption or a placeholder.'),
      senderName: nullableText('The sender at that time.'),
    },
    { title: 'QuotedMessage', description: 'The quoted message; null while unknown.' },
  ),
  Type.Null(),
])

export const MessageRecord = Type.Object(
  {
    id: Type.Integer({ description: 'Id. Grows from message to message; use it as a cursor.' }),
    wamid: nullableText('Message id at the provider, or `erased:<id>` after the contact was erased.'),
    direction: Direction,
    type: Type.Enum(['text', 'image', 'video', 'audio', 'document']),
    text: nullableText('Text, caption, or a placeholder such as `[image]`, `[revoked]` or `[erased]`.'),
    media: Type.Union([
      Type.Object({
        url: nullableText('File URL. Needs no credential; valid for 7 days.'),
        type: nullableText('MIME type.'),
        filename: nullableText('File name.'),
        voice: Type.Boolean({ description: 'Whether the file is a voice note.' }),
      }),
      Type.Null(),
    ]),
    reaction: nullableText('Emoji of a reaction to this message.'),
    status: MessageStatus,
    error: ERROR,
    pricing: MessagePrice,
    senderName: nullableText('The sender at that time; in a group the profile name and number: `Ada (+393331234567)`.'),
    timestamp: nullableInteger('Time in epoch seconds.'),
    timestampIso: nullableTime('The same time in ISO 8601.'),
    editedAt: nullableTime('When the customer edited the message; `text` is the new text.'),
    revokedAt: nullableTime(
      'When the customer deleted the message; `text` is `[revoked]`, and media is no longer available.',
    ),
    content: Type.Union([StructuredContentShape, Type.Null()]),
    quotedWamid: nullableText("The quoted message's id at the provider."),
    quotedMessageId: nullableInteger("The quoted message's id here; null while unknown."),
    kind: Type.String({
      description:
        'Message kind: `text`, `image`, `video`, `audio`, `document`, `sticker`, `location`, `contacts`, `order`, `interactive`, `button`, `template`, `reaction`, `call`, or another provider name.',
    }),
    ...MESSAGE_MEMBERS,
    quoted: QuotedMessage,
  },
  {
    title: 'Message',
    example: MESSAGE_EXAMPLE,
  },
)
export type MessageRecord = Static<typeof MessageRecord>

export const MessageDetailsRecord = Type.Object(
  {
    message: MessageRecord,
    statuses: Type.Array(
      Type.Object({
        status: Type.String({ description: 'A status reported by the provider, each once.' }),
        at: nullableTime("Time by the provider's clock."),
        receivedAt: Timestamp,
        error: ERROR,
      }),
    ),
    deliveries: Type.Array(
      Type.Object({
        registrationId: Type.Integer(),
        deliveryId: Type.Integer(),
        status: Type.Enum(['pending', 'delivered', 'dead', 'skipped']),
        attempts: Type.Integer(),
      }),
    ),
  },
  {
    title: 'MessageDetails',
    example: {
      message: MESSAGE_EXAMPLE,
      statuses: [],
      deliveries: [{ registrationId: 7, deliveryId: 20779000002207, status: 'delivered', attempts: 1 }],
    },
  },
)
export type MessageDetailsRecord = Static<typeof MessageDetailsRecord>

export type MediaAddress = (companyId: number, messageId: number) => string

/** The media URL is signed for this company and may expire. */
export const toMessageRecord = (row: Message, companyId: number, mediaAddress: MediaAddress): MessageRecord => ({
  id: row.id,
  wamid: row.wamid,
  direction: row.direction,
  type: row.type as MessageRecord['type'],
  text: row.text,
  media: row.media && {
    url: row.media.link ?? (isStoredHere(row.media) ? mediaAddress(companyId, row.id) : null),
    type: row.media.mimeType ?? null,
    filename: row.media.filename ?? null,
    voice: row.media.voice ?? false,
  },
  reaction: row.reaction,
  status: row.status as MessageRecord['status'],
  error: toFailure(row.error),
  pricing: row.pricing,
  senderName: row.senderName,
  timestamp: row.sentAt && Math.floor(row.sentAt.getTime() / 1000),
  timestampIso: row.sentAt?.toISOString() ?? null,
  editedAt: row.editedAt?.toISOString() ?? null,
  revokedAt: row.revokedAt?.toISOString() ?? null,
  content: toContent(row.content),
  quotedWamid: row.quotedWamid,
  quotedMessageId: row.quoted?.id ?? null,
  kind: row.kind,
  ...toMembers(row),
  quoted: row.quoted,
})

const toContent = (content: Message['content']): StructuredContent | null =>
  content?.type === 'reply' ? { ...content, reply: toReplyMember(content.reply) } : content

const toMembers = ({ content, context }: Message): Pick<MessageRecord, keyof typeof MESSAGE_MEMBERS> => ({
  reply: content?.type === 'reply' ? toReplyMember(content.reply) : null,
  location: content?.type === 'location' ? content.location : null,
  contacts: content?.type === 'contacts' ? content.contacts : null,
  order: content?.type === 'order' ? content.order : null,
  referral: context?.referral ?? null,
  forwarded: context?.forwarded ?? false,
  frequentlyForwarded: context?.frequentlyForwarded ?? false,
  referredProduct: context?.referredProduct ?? null,
  call: content?.type === 'call' ? content.call : null,
})

const isStoredHere = ({ providerMediaId, uploadId }: NonNullable<Message['media']>): boolean =>
  Boolean(providerMediaId) || uploadId !== undefined

export const toMessageDetails = (
  details: StoredMessageDetails,
  companyId: number,
  mediaAddress: MediaAddress,
): MessageDetailsRecord => ({
  message: toMessageRecord(details.message, companyId, mediaAddress),
  statuses: details.statuses.map(({ status, occurredAt, createdAt, error }) => ({
    status,
    at: occurredAt?.toISOString() ?? null,
    receivedAt: createdAt.toISOString(),
    error: toFailure(error),
  })),
  deliveries: details.deliveries,
})

const toFailure = (error: Message['error']): MessageRecord['error'] =>
  error && { code: error.code ?? null, title: error.title ?? null, details: error.details ?? null }
