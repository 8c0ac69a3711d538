import { type Static, Type } from 'typebox'
import { nullableInteger, nullableText, Timestamp } from '../../http/shapes.ts'
import { MEDIA_KINDS, OWN_MEMBERS } from '../send-shape.ts'
import { SCHEDULED_STATUSES, type ScheduledMessage } from './scheduled-store.ts'

const EXAMPLE = {
  id: 44,
  status: 'scheduled',
  sendAt: '2026-03-05T08:00:00.000Z',
  chatId: 812,
  messageId: null,
  recipient: '393331234567',
  type: 'text',
  text: 'Your order 1042 arrives today.',
  senderName: 'Shop key',
  error: null,
  createdAt: '2026-03-02T09:30:00.000Z',
}

const Status = Type.Enum([...SCHEDULED_STATUSES], {
  description:
    '`sent`: became message `messageId`, whose status shows the outcome. `failed`: not sent; `error` has the reason.',
})

const ANY = SCHEDULED_STATUSES.join('|')
export const ScheduledStatuses = Type.String({
  pattern: `^(${ANY})(,(${ANY})){0,${SCHEDULED_STATUSES.length - 1}}$`,
  description: 'Comma-separated: `scheduled`, `sent`, `failed`.',
})

export const ScheduledRecord = Type.Object(
  {
    id: Type.Integer({ description: 'Scheduled message id.' }),
    status: Status,
    sendAt: Type.String({ format: 'date-time', description: 'Send time.' }),
    chatId: nullableInteger('The conversation; null while sender and recipient have none.'),
    messageId: nullableInteger('The sent message; null before.'),
    recipient: Type.String({
      description: "Recipient in the request; a reply goes to the customer's address at the send time.",
    }),
    type: Type.Enum([...OWN_MEMBERS, ...MEDIA_KINDS]),
    text: nullableText('Text as the conversation would show it; null once sent.'),
    senderName: Type.String({ description: 'API key or session name.' }),
    error: Type.Union([
      Type.Object({
        code: nullableText('Error code that a send would have returned, if any.'),
        message: Type.String(),
      }),
      Type.Null(),
    ]),
    createdAt: Timestamp,
  },
  { title: 'ScheduledMessage', example: EXAMPLE },
)
type ScheduledRecord = Static<typeof ScheduledRecord>

export const ScheduledReplyShape = Type.Object(
  { success: Type.Literal(true), data: ScheduledRecord },
  { title: 'ScheduledReply', description: 'The message is scheduled.', 'x-body-member': 'sendAt' },
)

export const toScheduledRecord = (message: ScheduledMessage): ScheduledRecord => ({
  id: message.id,
  status: message.status,
  sendAt: message.sendAt.toISOString(),
  chatId: message.conversationId,
  messageId: message.messageId,
  recipient: message.recipient,
  type: message.type as ScheduledRecord['type'],
  text: message.text,
  senderName: message.senderName,
  error: message.error && { code: message.error.code, message: message.error.message },
  createdAt: message.createdAt.toISOString(),
})
