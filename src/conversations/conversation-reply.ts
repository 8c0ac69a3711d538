import { type Static, Type } from 'typebox'
import { nullableInteger, nullableText, nullableTime, Pagination, pathId } from '../http/shapes.ts'
import { REFERRAL } from './content/message-content.ts'
import type { Conversation } from './list/conversation-list-store.ts'
import { Direction, type MessageRecord, MessageStatus } from './message-reply.ts'
import { WINDOW_MS } from './window.ts'

export const ChatId = Type.Object({ chatId: pathId('ChatId', 'Conversation id.') })

export const ConversationPagination = Type.Object(
  {
    ...Pagination.properties,
    totalRecords: nullableInteger('Number of records on all pages; null with a filter.'),
    totalPages: nullableInteger('Number of pages; null with a filter.'),
    nextCursor: nullableText('Cursor of the next page, to pass as `before`; null on the last page.'),
    previousCursor: nullableText('Cursor of the previous page, to pass as `after`; null on the first page.'),
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

export const CONVERSATION_EXAMPLE = {
  chatId: 812,
  contact: { id: 4127, phone: '393331234567', name: 'Ada Rossi', userId: null },
  sender: { channelId: 3, phoneNumber: '+39 06 5550 1234', phoneName: 'Rossi Shoes' },
  window: { isOpen: true, closesAt: '2026-03-03T09:30:00.000Z' },
  assignee: null,
  controlledBy: null,
  referral: null,
  groupId: null,
  status: 'open',
  unreadMessages: 1,
  lastMessage: {
    id: 90217,
    text: 'Is my order ready?',
    direction: 'inbound',
    status: 'received',
    kind: 'text',
    itemCount: null,
    timestamp: 1772443800,
    timestampIso: '2026-03-02T09:30:00.000Z',
  },
  createdAt: '2026-02-27T16:04:11.000Z',
  updatedAt: '2026-03-02T09:30:00.000Z',
}

export const ConversationRecord = Type.Object(
  {
    chatId: Type.Integer({ description: 'Conversation id.' }),
    contact: Type.Object({
      id: Type.Integer({ description: 'Contact id.' }),
      phone: nullableText(
        "Number that replies go to, in digits; null for a group, and while the customer's phone number is unknown.",
      ),
      name: nullableText('Contact name, else the WhatsApp profile name; for a group its id.'),
      userId: nullableText('User id at the provider, accepted as `recipient` of a send; null while unknown.'),
    }),
    sender: Type.Object({
      channelId: Type.Integer({ description: 'Id of the connected number.' }),
      phoneNumber: Type.String({ description: 'Display phone number.' }),
      phoneName: Type.String({ description: 'Display name of the business.' }),
    }),
    window: Type.Object({
      isOpen: Type.Boolean({
        description: 'Whether the customer wrote less than 24 hours ago: free text may be sent.',
      }),
      closesAt: nullableTime('End of the window; null if the customer never wrote.'),
    }),
    assignee: nullableText('Name of the person who answers.'),
    controlledBy: Type.Unsafe<'business' | 'agent' | null>({
      enum: ['business', 'agent', null],
      description: "Whether the business or the provider's AI agent answers; null if not reported.",
    }),
    referral: REFERRAL,
    groupId: nullableText('Group id at the provider; null for a conversation with one customer.'),
    status: Type.Enum(['open', 'closed', 'snoozed']),
    unreadMessages: Type.Integer({
      description: 'Number of inbound messages since the last outbound one, or since the conversation was read.',
    }),
    lastMessage: Type.Union([
      Type.Object({
        id: nullableInteger('Message id; null if deleted.'),
        text: nullableText('Text, caption or a placeholder.'),
        direction: Direction,
        status: Type.Union([MessageStatus, Type.Null()], { description: 'Null if the message is deleted.' }),
        kind: nullableText('Message kind, such as `text` or `sticker`; null if the message is deleted.'),
        itemCount: nullableInteger('Number of products in an order, or of contact cards; null for other kinds.'),
        timestamp: Type.Integer({ description: 'Time in epoch seconds.' }),
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

/** `now` decides whether the window is open. */
export const toConversationRecord = (row: Conversation, now: Date): ConversationRecord => ({
  chatId: row.id,
  contact: { id: row.contactId, phone: row.phone, name: customerName(row), userId: row.userId },
  sender: { channelId: row.senderId, phoneNumber: row.phoneNumber, phoneName: row.phoneName },
  window: windowOf(row.lastInboundAt, now),
  assignee: row.assignee,
  controlledBy: row.controlledBy,
  referral: row.referral,
  groupId: row.groupId,
  status: row.status,
  unreadMessages: row.unreadMessages,
  lastMessage:
    row.lastMessageAt === null || row.lastDirection === null
      ? null
      : {
          id: row.lastMessageId,
          text: row.lastText,
          direction: row.lastDirection,
          status: row.lastStatus as MessageRecord['status'] | null,
          kind: row.lastKind,
          itemCount: row.lastItemCount,
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

export function customerName({
  firstName,
  lastName,
  profileName,
}: Pick<Conversation, 'firstName' | 'lastName' | 'profileName'>): string | null {
  if (firstName) return lastName ? `${firstName} ${lastName}` : firstName
  return profileName
}
