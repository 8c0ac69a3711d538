import { Type } from 'typebox'
import { ERROR, MESSAGE_MEMBERS } from '../../conversations/content/message-content.ts'
import type { Db } from '../../db/connect.ts'
import { nullableInteger, nullableText, nullableTime } from '../../http/shapes.ts'
import { digitsOf } from '../../platform/text/phone.ts'
import {
  type CallItem,
  type ChangeItem,
  type InboundItem,
  type MessageItem,
  NO_DETAILS,
  type ReactionItem,
} from '../../providers/events/event-item.ts'
import { DEFAULT_PROVIDER, type ProviderName } from '../../providers/provider-name.ts'
import { PROVIDER_NAMES } from '../../providers/provider-names.ts'
import type { DirectDispatch, Job } from '../../queue/job.ts'
import {
  DELIVER,
  type DeliveryRef,
  deliveryLaneOf,
  type EnqueuedDelivery,
  enqueueDeliveries,
} from '../deliveries/delivery-store.ts'
import type { EventKind } from './event-kind.ts'

export const MESSAGE_RECEIVED = 'whatsapp.message.received'

const Media = Type.Object(
  {
    kind: Type.Enum(['image', 'video', 'audio', 'document'], { description: 'A sticker is an `image`.' }),
    mimeType: nullableText('MIME type.'),
    filename: nullableText('File name.'),
    caption: nullableText('Text below the file.'),
    voice: Type.Boolean({ description: 'Whether the file is a voice note.' }),
    providerMediaId: nullableText('File id at the provider.'),
  },
  { title: 'EnvelopeMedia' },
)

const Message = Type.Object(
  {
    wamid: Type.String({ description: 'Message id at the provider.' }),
    type: Type.String({
      description: "The provider's type, except that a sticker is an `image` and a voice note an `audio`.",
    }),
    text: nullableText('Text, caption, button title or new text of an edit, else a placeholder such as `[image]`.'),
    media: Type.Optional(Media),
    reaction: Type.Optional(
      Type.Object(
        {
          targetWamid: nullableText('The target of the reaction.'),
          emoji: nullableText('The emoji; null if the reaction was removed.'),
        },
        { title: 'EnvelopeReaction' },
      ),
    ),
    isEcho: Type.Boolean({ description: 'Whether the business wrote the message in its phone app.' }),
    timestamp: nullableInteger('Time in epoch seconds.'),
    timestampIso: nullableTime('The same time in ISO 8601.'),
    reply: MESSAGE_MEMBERS.reply,
    quotedWamid: nullableText('The quoted message.'),
    originalWamid: nullableText("The edited or revoked message; for a call event, the call's message."),
    groupId: nullableText("The message's group; `contact` is the writer."),
    referral: MESSAGE_MEMBERS.referral,
    location: MESSAGE_MEMBERS.location,
    contacts: MESSAGE_MEMBERS.contacts,
    order: MESSAGE_MEMBERS.order,
    forwarded: MESSAGE_MEMBERS.forwarded,
    frequentlyForwarded: MESSAGE_MEMBERS.frequentlyForwarded,
    referredProduct: MESSAGE_MEMBERS.referredProduct,
    call: MESSAGE_MEMBERS.call,
    error: ERROR,
  },
  { title: 'EnvelopeMessage' },
)

/** Members of a message that is nothing but its text. */
export const PLAIN_MESSAGE = {
  reply: null,
  quotedWamid: null,
  originalWamid: null,
  groupId: null,
  referral: null,
  location: null,
  contacts: null,
  order: null,
  forwarded: false,
  frequentlyForwarded: false,
  referredProduct: null,
  call: null,
  error: null,
} as const

const EXAMPLE = {
  version: '1',
  event: MESSAGE_RECEIVED,
  companyId: 1,
  channel: { provider: DEFAULT_PROVIDER, phoneNumber: '390655501234', channelId: 3 },
  contact: { phone: '393331234567', name: 'Ada Rossi', userId: null },
  message: {
    wamid: 'wamid.HBgMMzkzMzMx',
    type: 'text',
    text: 'Is my order ready?',
    isEcho: false,
    timestamp: 1772443800,
    timestampIso: '2026-03-02T09:30:00.000Z',
    ...PLAIN_MESSAGE,
  },
  raw: { object: 'whatsapp_business_account', entry: [] },
}

/** The body of message events (spec: Envelope; decisions: Envelope). */
export const Envelope = Type.Object(
  {
    version: Type.Literal('1', { description: 'Envelope version; unchanged by additions.' }),
    event: Type.Literal(MESSAGE_RECEIVED),
    companyId: Type.Integer({ description: 'Company id.' }),
    channel: Type.Object({
      provider: Type.Enum(PROVIDER_NAMES),
      phoneNumber: nullableText('Digits of the receiving number.'),
      channelId: nullableInteger('Number id.'),
    }),
    contact: Type.Object({
      phone: nullableText('Digits; null while the customer hides the phone number.'),
      name: nullableText('Profile name.'),
      userId: nullableText('User id at the provider.'),
    }),
    message: Message,
    raw: Type.Object(
      {},
      {
        additionalProperties: true,
        description: "The provider's JSON for this message, not part of the contract.",
      },
    ),
  },
  { title: 'Envelope', example: EXAMPLE },
)

export const messageReceived = {
  name: MESSAGE_RECEIVED,
  label: 'Messages',
  operationId: 'receiveMessage',
  summary: 'Receive a message',
  description: 'A customer wrote a message, or the business wrote one in its phone app.',
  shape: Envelope,
  example: EXAMPLE,
} satisfies EventKind

export type Forwardable = (MessageItem | CallItem | ChangeItem | ReactionItem) & { isForwarded: true }

type EnvelopeChannel = {
  companyId: number
  provider: ProviderName
  /** Null falls back to the number in the event. */
  phoneNumber: string | null
  channelId: number | null
}

/** Returns whether receivers can subscribe to the item. */
export const isForwardable = (item: InboundItem): item is Forwardable => 'isForwarded' in item && item.isForwarded

/** Serializes the body once (spec: Envelope). Keep as text, not jsonb: `raw` can contain `\u0000` and lone surrogates. */
export function buildEnvelope(item: Forwardable, channel: EnvelopeChannel): string {
  const envelope = {
    version: '1',
    event: MESSAGE_RECEIVED,
    companyId: channel.companyId,
    channel: {
      provider: channel.provider,
      phoneNumber: digitsOf(channel.phoneNumber ?? '') || item.businessPhone,
      channelId: channel.channelId,
    },
    contact: { phone: item.customer.phone, name: item.customer.profileName, userId: item.customer.userId },
    message: toMessage(item),
  }
  return `${JSON.stringify(envelope).slice(0, -1)},"raw":${item.raw()}}`
}

const toMessage = (item: Forwardable) => ({
  wamid: item.wamid,
  ...(item.kind === 'reaction' ? toReaction(item) : toContent(item)),
  isEcho: item.isEcho,
  timestamp: item.timestamp,
  timestampIso: item.timestamp === null ? null : new Date(item.timestamp * 1000).toISOString(),
  ...toAdditions(item),
})

/** Beyond the specification (decisions: Envelope). */
function toAdditions(item: Forwardable) {
  const { quotedWamid, originalWamid, details, error } = item.kind === 'reaction' ? NOTHING_MORE : item
  const { reply, ...others } = details
  return { reply, quotedWamid, originalWamid, groupId: item.groupId, ...others, error }
}

const NOTHING_MORE = { quotedWamid: null, originalWamid: null, details: NO_DETAILS, error: null }

const toContent = ({ type, text, media }: MessageItem | CallItem | ChangeItem) => ({
  type,
  text,
  ...(media && { media: toMedia(media) }),
})

const toMedia = ({ kind, mimeType, filename, caption, voice, providerMediaId }: NonNullable<MessageItem['media']>) => ({
  kind,
  mimeType,
  filename,
  caption,
  voice,
  providerMediaId,
})

const toReaction = ({ targetWamid, emoji }: ReactionItem) => ({
  type: 'reaction',
  text: null,
  reaction: { targetWamid, emoji },
})

export type Forwarded = {
  companyId: number
  senderId: number
  /** Null for an edit or revoke without a stored message. */
  conversationId: number | null
  wamid: string
  messageId: number | null
  body: string
  /** Lets an erasure find the event; empty for direct messages, found by their row. */
  people?: readonly string[]
}

/**
 * Enqueues new messages for their companies' receivers, in the transaction that writes them (spec: Events). Returns deliveries
 * leased for direct dispatch and deliveries waiting for a claim, both valid after the commit.
 */
export async function forwardMessages(
  tx: Db,
  messages: readonly Forwarded[],
  dispatch?: DirectDispatch,
): Promise<{ leased: Job[]; waiting: DeliveryRef[] }> {
  const envelopes = messages.map(({ wamid, senderId, ...message }) => ({
    ...message,
    event: MESSAGE_RECEIVED,
    eventId: wamid,
    channelIds: [senderId],
  }))
  const deliveries = await enqueueDeliveries(tx, envelopes, dispatch)
  return { leased: deliveries.flatMap(toJob), waiting: deliveries.filter(({ claimId }) => claimId === null) }
}

function toJob({ companyId, deliveryId, registrationId, claimId, dueAt, createdAt }: EnqueuedDelivery): Job[] {
  if (claimId === null) return []
  const lane = deliveryLaneOf(companyId, registrationId)
  return [
    { id: deliveryId, claimId, kind: DELIVER, lane, companyId, subjectId: deliveryId, dueAt, attempts: 0, createdAt },
  ]
}
