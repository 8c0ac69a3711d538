import { type Static, Type } from 'typebox'
import { nullableInteger, nullableText, nullableTime, Pagination, pathId, Timestamp } from '../http/shapes.ts'
import type { Message } from './conversation-store.ts'
import type { Conversation } from './list/conversation-list-store.ts'
import type { StoredMessageDetails } from './message-details-store.ts'
import { MessagePrice } from './usage/usage-shape.ts'

export const ChatId = Type.Object({ chatId: pathId('ChatId', 'The id of the conversation.') })

export const ConversationPagination = Type.Object(
  {
    ...Pagination.properties,
    totalRecords: nullableInteger('The number of records on all pages; null with a filter.'),
    totalPages: nullableInteger('The number of pages; null with a filter.'),
    nextCursor: nullableText('The cursor of the next page, to pass as `before`; null on the last page.'),
    previousCursor: nullableText('The cursor of the previous page, to pass as `after`; null on the first page.'),
  },
  {
    title: 'ConversationPagination',
    example: {
      totalRecords: 2,
      currentPage: 1,
      totalPages: 1,
      nextPage: null,
      prevPage: null,
      nextCursor: null,
      previousCursor: null,
    },
  },
)

const Direction = Type.Enum(['inbound', 'outbound'], {
  description: 'Inbound messages come from the customer, outbound ones from the business.',
})

const MessageStatus = Type.Enum(['received', 'pending', 'sent', 'delivered', 'read', 'failed', 'unknown'], {
  description: 'Inbound messages are `received`. `unknown` means that the provider did not answer the send.',
})

export const CONVERSATION_EXAMPLE = {
  chatId: 812,
  contact: { id: 4127, phone: '393331234567', name: 'Ada Rossi', userId: null },
  sender: { channelId: 3, phoneNumber: '+39 06 5550 1234', phoneName: 'Rossi Shoes' },
  window: { isOpen: true, closesAt: '2026-03-03T09:30:00.000Z' },
  assignee: null,
  controlledBy: null,
  groupId: null,
  status: 'open',
  unreadMessages: 1,
  lastMessage: {
    text: 'Is my order ready?',
    direction: 'inbound',
    status: 'received',
    timestamp: 1772443800,
    timestampIso: '2026-03-02T09:30:00.000Z',
  },
  createdAt: '2026-02-27T16:04:11.000Z',
  updatedAt: '2026-03-02T09:30:00.000Z',
}

export const ConversationRecord = Type.Object(
  {
    chatId: Type.Integer({ description: 'The id of the conversation.' }),
    contact: Type.Object({
      id: Type.Integer({ description: 'The id of the contact.' }),
      phone: nullableText(
        'The number that an answer reaches, in digits; null for a group, and while the phone number of the customer is not known.',
      ),
      name: nullableText('The name of the contact, else the WhatsApp profile name; for a group its id.'),
      userId: nullableText(
        'The user id at the provider, which a send takes as `recipient`; null while it is not known.',
      ),
    }),
    sender: Type.Object({
      channelId: Type.Integer({ description: 'The id of the connected number.' }),
      phoneNumber: Type.String({ description: 'The display phone number.' }),
      phoneName: Type.String({ description: 'The display name of the business.' }),
    }),
    window: Type.Object({
      isOpen: Type.Boolean({
        description: 'Whether the customer wrote less than 24 hours ago: free text may be sent.',
      }),
      closesAt: nullableTime('The end of the window; null when the customer never wrote.'),
    }),
    assignee: nullableText('The name of the person who answers.'),
    controlledBy: Type.Unsafe<'business' | 'agent' | null>({
      enum: ['business', 'agent', null],
      description: 'Whether the business or the AI agent of the provider answers; null: not reported.',
    }),
    groupId: nullableText('The id of the group at the provider; null for a conversation with one customer.'),
    status: Type.Enum(['open', 'closed', 'snoozed']),
    unreadMessages: Type.Integer({
      description: 'The number of inbound messages since the last outbound one, or since the conversation was read.',
    }),
    lastMessage: Type.Union([
      Type.Object({
        text: nullableText('The text, the caption or a placeholder.'),
        direction: Direction,
        status: Type.Union([MessageStatus, Type.Null()], { description: 'Null when the message is deleted.' }),
        timestamp: Type.Integer({ description: 'The time in epoch seconds.' }),
        timestampIso: Type.String({ format: 'date-time' }),
      }),
      Type.Null(),
    ]),
    createdAt: Type.String({ format: 'date-time' }),
    updatedAt: Type.String({ format: 'date-time' }),
  },
  {
    title: 'Conversation',
    example: CONVERSATION_EXAMPLE,
  },
)
export type ConversationRecord = Static<typeof ConversationRecord>

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
}

const MessageFailure = Type.Union([
  Type.Object(
    {
      code: nullableInteger('The error code of the provider.'),
      title: nullableText('The error title of the provider.'),
      details: nullableText('The details that the provider gave.'),
    },
    { title: 'MessageFailure', description: 'Why a message failed, as the provider reports it.' },
  ),
  Type.Null(),
])

export const MessageRecord = Type.Object(
  {
    id: Type.Integer({ description: 'The id, which grows from message to message and serves as a cursor.' }),
    wamid: nullableText('The id of the message at the provider, or `erased:<id>` after the contact was erased.'),
    direction: Direction,
    type: Type.Enum(['text', 'image', 'video', 'audio', 'document']),
    text: nullableText('The text, the caption, or a placeholder such as `[image]`, `[revoked]` or `[erased]`.'),
    media: Type.Union([
      Type.Object({
        url: nullableText('The address of the file, which needs no credential and is valid for 7 days.'),
        type: nullableText('The MIME type.'),
        filename: nullableText('The name of the file.'),
      }),
      Type.Null(),
    ]),
    reaction: nullableText('The emoji of a reaction to this message.'),
    status: MessageStatus,
    error: MessageFailure,
    pricing: MessagePrice,
    senderName: nullableText('The sender at that time; in a group the profile name and number: `Ada (+393331234567)`.'),
    timestamp: nullableInteger('The time in epoch seconds.'),
    timestampIso: nullableTime('The same time in ISO 8601.'),
    editedAt: nullableTime('The time at which the customer changed the message; `text` is the new text.'),
    revokedAt: nullableTime(
      'The time at which the customer deleted the message; `text` is `[revoked]`, and media is not served any more.',
    ),
  },
  {
    title: 'Message',
    example: MESSAGE_EXAMPLE,
  },
)
export type MessageRecord = Static<typeof MessageRecord>

/** A message with its statuses at the provider and its deliveries. */
export const MessageDetailsRecord = Type.Object(
  {
    message: MessageRecord,
    statuses: Type.Array(
      Type.Object({
        status: Type.String({ description: 'A status that the provider reported, each once.' }),
        at: nullableTime('The time by the clock of the provider.'),
        receivedAt: Timestamp,
        error: MessageFailure,
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

/** Where a message's media can be fetched. */
export type MediaAddress = (companyId: number, messageId: number) => string

const WINDOW_MS = 24 * 60 * 60 * 1000

/** A conversation as lists show it. `now` decides whether the window is open. */
export const toConversationRecord = (row: Conversation, now: Date): ConversationRecord => ({
  chatId: row.id,
  contact: { id: row.contactId, phone: row.phone, name: nameOf(row), userId: row.userId },
  sender: { channelId: row.senderId, phoneNumber: row.phoneNumber, phoneName: row.phoneName },
  window: windowOf(row.lastInboundAt, now),
  assignee: row.assignee,
  controlledBy: row.controlledBy,
  groupId: row.groupId,
  status: row.status,
  unreadMessages: row.unreadMessages,
  lastMessage:
    row.lastMessageAt === null || row.lastDirection === null
      ? null
      : {
          text: row.lastText,
          direction: row.lastDirection,
          status: row.lastStatus as MessageRecord['status'] | null,
          timestamp: Math.floor(row.lastMessageAt.getTime() / 1000),
          timestampIso: row.lastMessageAt.toISOString(),
        },
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
})

function windowOf(lastInboundAt: Date | null, now: Date): ConversationRecord['window'] {
  if (lastInboundAt === null) return { isOpen: false, closesAt: null }
  const closesAt = new Date(lastInboundAt.getTime() + WINDOW_MS)
  return { isOpen: closesAt > now, closesAt: closesAt.toISOString() }
}

/** First and last name, else first name, else the WhatsApp profile name, else null. */
function nameOf({ firstName, lastName, profileName }: Conversation): string | null {
  if (firstName) return lastName ? `${firstName} ${lastName}` : firstName
  return profileName
}

/** A message as lists show it. The address of a file is signed for this company and may expire. */
export const toMessageRecord = (row: Message, companyId: number, mediaAddress: MediaAddress): MessageRecord => ({
  id: row.id,
  wamid: row.wamid,
  direction: row.direction,
  type: row.type as MessageRecord['type'],
  text: row.text,
  media: row.media && {
    url: row.media.link ?? (row.media.providerMediaId ? mediaAddress(companyId, row.id) : null),
    type: row.media.mimeType ?? null,
    filename: row.media.filename ?? null,
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
})

/** A message with its statuses and deliveries, in order. */
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
