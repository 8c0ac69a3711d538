import { type Static, Type } from 'typebox'
import type { Conversation, Message } from './conversation-store.ts'

const Nullable = <T extends Parameters<typeof Type.Union>[0][number]>(shape: T) => Type.Union([shape, Type.Null()])
const NullableText = Nullable(Type.String())

export const ConversationRecord = Type.Object({
  chatId: Type.Integer(),
  contact: Type.Object({
    id: Type.Integer(),
    phone: Nullable(
      Type.String({ description: 'Digits; null for a group, and while the customer’s phone number is not known' }),
    ),
    name: Nullable(Type.String({ description: 'For a group its id' })),
  }),
  groupId: Nullable(
    Type.String({ description: 'The provider’s id of the group; null for a conversation with one customer' }),
  ),
  status: Type.Enum(['open', 'closed', 'snoozed']),
  unreadMessages: Type.Integer({ description: 'Inbound since the last outbound, or since it was marked read' }),
  lastMessage: Nullable(
    Type.Object({
      text: NullableText,
      direction: Type.Enum(['inbound', 'outbound']),
      timestamp: Type.Integer({ description: 'Epoch seconds' }),
      timestampIso: Type.String({ format: 'date-time' }),
    }),
  ),
  createdAt: Type.String({ format: 'date-time' }),
  updatedAt: Type.String({ format: 'date-time' }),
})
export type ConversationRecord = Static<typeof ConversationRecord>

export const MessageRecord = Type.Object({
  id: Type.Integer({ description: 'Monotonic; usable as a cursor' }),
  wamid: Nullable(Type.String({ description: 'The provider’s id; `erased:<id>` once the contact was erased' })),
  direction: Type.Enum(['inbound', 'outbound']),
  type: Type.Enum(['text', 'image', 'video', 'audio', 'document']),
  text: Nullable(Type.String({ description: '`[revoked]` or `[erased]` when it was removed' })),
  media: Nullable(
    Type.Object({
      url: Nullable(Type.String({ description: 'Fetchable without login for 7 days from reading' })),
      type: Nullable(Type.String({ description: 'MIME type' })),
      filename: NullableText,
    }),
  ),
  reaction: NullableText,
  status: Type.Enum(['received', 'pending', 'sent', 'delivered', 'read', 'failed', 'unknown']),
  error: Nullable(
    Type.Object(
      { code: Nullable(Type.Integer()), title: NullableText, details: NullableText },
      {
        description: 'Why a failed message failed, in the provider’s words',
      },
    ),
  ),
  senderName: Nullable(
    Type.String({ description: 'In a group the writer’s profile name and phone number: `Ada (+16505551234)`' }),
  ),
  timestamp: Nullable(Type.Integer({ description: 'Epoch seconds' })),
  timestampIso: Nullable(Type.String({ format: 'date-time' })),
  editedAt: Nullable(
    Type.String({ format: 'date-time', description: 'When its writer changed it: `text` is the new one' }),
  ),
  revokedAt: Nullable(
    Type.String({
      format: 'date-time',
      description: 'When its writer deleted it: `text` is `[revoked]`, and media are no longer served',
    }),
  ),
})
export type MessageRecord = Static<typeof MessageRecord>

/** Where a message's media can be fetched. */
export type MediaAddress = (companyId: number, messageId: number) => string

export const toConversationRecord = (row: Conversation): ConversationRecord => ({
  chatId: row.id,
  contact: { id: row.contactId, phone: row.contactPhone, name: nameOf(row) },
  groupId: row.groupId,
  status: row.status,
  unreadMessages: row.unreadMessages,
  lastMessage:
    row.lastMessageAt === null || row.lastDirection === null
      ? null
      : {
          text: row.lastText,
          direction: row.lastDirection,
          timestamp: Math.floor(row.lastMessageAt.getTime() / 1000),
          timestampIso: row.lastMessageAt.toISOString(),
        },
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
})

/** First and last name, else first name, else the WhatsApp profile name, else null. */
function nameOf({ firstName, lastName, profileName }: Conversation): string | null {
  if (firstName) return lastName ? `${firstName} ${lastName}` : firstName
  return profileName
}

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
  error: row.error && {
    code: row.error.code ?? null,
    title: row.error.title ?? null,
    details: row.error.details ?? null,
  },
  senderName: row.senderName,
  timestamp: row.sentAt && Math.floor(row.sentAt.getTime() / 1000),
  timestampIso: row.sentAt?.toISOString() ?? null,
  editedAt: row.editedAt?.toISOString() ?? null,
  revokedAt: row.revokedAt?.toISOString() ?? null,
})
