import { Type } from 'typebox'
import type { ChangeOf } from '../../../changes/record-change.ts'
import {
  CONVERSATION_EXAMPLE,
  ConversationRecord,
  toConversationRecord,
} from '../../../conversations/conversation-reply.ts'
import { listMessagesByIds } from '../../../conversations/conversation-store.ts'
import { listConversationsByIds } from '../../../conversations/list/conversation-list-store.ts'
import { MESSAGE_EXAMPLE, MessageRecord, toMessageRecord } from '../../../conversations/message-reply.ts'
import { type RecordEventKind, recordEvent } from '../event-kind.ts'

const NAME = 'whatsapp.message.status'

declare module '../../../changes/record-change.ts' {
  interface RecordChanges {
    [NAME]: {
      id: number
      before: string
      after: string
      failure: { readonly error: MessageError | null } | null
      isFirstSent: boolean
    }
  }
}

const STATUSES = ['sent', 'delivered', 'read', 'failed'] as const
type Status = (typeof STATUSES)[number]
type MessageError = { readonly code: number | null; readonly title: string | null; readonly details: string | null }

const RANK: Readonly<Record<string, number>> = { sent: 2, failed: 3, delivered: 4, read: 5 }
const rankOf = (status: string): number => RANK[status] ?? 0

type Progress = Pick<ChangeOf<typeof NAME>, 'before' | 'after' | 'failure' | 'isFirstSent'>

/** Returns the statuses reached, by rank: a read message was sent and delivered. A failed one may not have been sent. */
export function statusesReached({ before, after, failure, isFirstSent }: Progress): Status[] {
  const isReached = (status: Status): boolean => rankOf(before) < rankOf(status) && rankOf(status) <= rankOf(after)
  return (['sent', 'failed', 'delivered', 'read'] as const).filter((status) => {
    if (status === 'sent') return isFirstSent
    return isReached(status) && (status !== 'failed' || after === 'failed' || failure !== null)
  })
}

const { chatId, contact, sender } = CONVERSATION_EXAMPLE
const EXAMPLE = {
  ...MESSAGE_EXAMPLE,
  direction: 'outbound',
  type: 'text',
  text: 'Your order is ready.',
  media: null,
  status: 'delivered',
  senderName: 'Order desk',
  chatId,
  contact,
  sender,
}

const Data = Type.Object(
  {
    ...MessageRecord.properties,
    chatId: ConversationRecord.properties.chatId,
    contact: ConversationRecord.properties.contact,
    sender: ConversationRecord.properties.sender,
  },
  {
    title: 'MessageStatus',
    description: "The message as in the conversation, with its conversation. `status` is the event's status.",
    example: EXAMPLE,
  },
)

export const messageStatus: RecordEventKind<typeof NAME> = {
  name: NAME,
  label: 'Statuses of messages',
  operationId: 'receiveMessageStatus',
  summary: 'Receive a message status',
  description:
    'A message from the business was sent, delivered, read, or failed, including replies and messages from the phone app. Each status is sent once, in the order `sent`, `failed`, `delivered`, `read`: a read message was sent and delivered, whichever report came first, and a failed one may still be delivered. A refused send is reported as `failed` only. `data.error` is the reason for a failure.',
  ...recordEvent(NAME, 'MessageStatusEvent', {
    id: 'msg_90217.delivered',
    changes: STATUSES,
    change: 'delivered',
    data: Data,
    dataExample: EXAMPLE,
  }),
  async build(tx, { mediaAddress, now }, companyId, changes) {
    const reached = changes.flatMap(toReached)
    const messages = await listMessagesByIds(tx, companyId, distinct(reached.map(({ id }) => id)))
    const ids = distinct(messages.map(({ conversationId }) => conversationId))
    const conversations = new Map((await listConversationsByIds(tx, companyId, ids)).map((one) => [one.id, one]))
    const byId = new Map(messages.map((message) => [message.id, message]))
    return reached.flatMap(({ id, status, failure }) => {
      const message = byId.get(id)
      const conversation = message && conversations.get(message.conversationId)
      if (message === undefined || conversation === undefined) return []
      const { chatId, contact, sender } = toConversationRecord(conversation, now())
      const record = toMessageRecord({ ...message, status }, companyId, mediaAddress)
      return [
        {
          eventId: `msg_${id}.${status}`,
          messageId: id,
          conversationId: chatId,
          channelIds: [sender.channelId],
          change: status,
          data: { ...record, error: status === 'failed' ? (failure ?? record).error : null, chatId, contact, sender },
        },
      ]
    })
  },
}

const toReached = (change: ChangeOf<typeof NAME>) =>
  statusesReached(change).map((status) => ({ id: change.id, status, failure: change.failure }))

const distinct = (ids: readonly number[]): number[] => [...new Set(ids)]
