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
    '`sent`: it is the message `messageId`, whose status says what became of it. `failed`: it was not sent, and `error` says why.',
})

const ANY = SCHEDULED_STATUSES.join('|')
export const ScheduledStatuses = Type.String({
  pattern: `^(${ANY})(,(${ANY})){0,${SCHEDULED_STATUSES.length - 1}}$`,
  description: 'Some of `scheduled`, `sent`, `failed`, with commas.',
})

export const ScheduledRecord = Type.Object(
  {
    id: Type.Integer({ description: 'The id of the scheduled message.' }),
    status: Status,
    sendAt: Type.String({ format: 'date-time', description: 'The time at which it is sent.' }),
    chatId: nullableInteger('The conversation; null while sender and recipient have none.'),
    messageId: nullableInteger('The message that it became; null before.'),
    recipient: Type.String({ description: 'The recipient of the request; a reply goes to the address of its time.' }),
    type: Type.Enum([...OWN_MEMBERS, ...MEDIA_KINDS]),
    text: nullableText('The text as the conversation would show it; null when it was sent.'),
    senderName: Type.String({ description: 'The name of the API key or session.' }),
    error: Type.Union([
      Type.Object({
        code: nullableText('The error code that a send would have answered, if it has one.'),
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
