import { type Static, Type } from 'typebox'
import {
  CONVERSATION_EXAMPLE,
  ConversationRecord,
  toConversationRecord,
} from '../../conversations/conversation-reply.ts'
import { EMAIL_STATS_EXAMPLE, EmailStats, toEmailStats } from '../../emails/email-shape.ts'
import { nullableText, nullableTime } from '../../http/shapes.ts'
import type { Activity } from './activity.ts'
import { type ConsentHistoryEntry, HISTORY_MAX } from './consent-history-store.ts'

const ConsentEntry = Type.Object(
  {
    id: Type.Integer({ description: 'Entry id.' }),
    channel: Type.Enum(['email', 'whatsapp']),
    value: Type.Boolean({ description: 'True for an opt-in, false for an opt-out.' }),
    at: Type.String({ format: 'date-time', description: 'Time of the statement, or of its latest repetition.' }),
    firstAt: nullableTime('First time of a repeated statement; null if made once.'),
    source: Type.String({
      description: 'Origin: `api`, `import`, `unsubscribe`, `provider`, `erasure` or another one.',
    }),
    ip: nullableText('IP address that gave consent, if contained in an imported list.'),
    keyName: nullableText('API key or console session name; null if there is none.'),
  },
  {
    title: 'ConsentEntry',
    example: {
      id: 71,
      channel: 'email',
      value: false,
      at: '2026-03-02T09:30:00.000Z',
      firstAt: null,
      source: 'unsubscribe',
      ip: null,
      keyName: null,
    },
  },
)

export const ConsentHistoryReply = Type.Object(
  { data: Type.Array(ConsentEntry) },
  { description: `The ${HISTORY_MAX} newest entries.` },
)

export const toConsentEntry = (entry: ConsentHistoryEntry): Static<typeof ConsentEntry> => ({
  id: entry.id,
  channel: entry.channel,
  value: entry.value,
  at: entry.saidAt.toISOString(),
  firstAt: entry.firstSaidAt?.toISOString() ?? null,
  source: entry.source,
  ip: entry.ip,
  keyName: entry.keyName,
})

const At = Type.String({
  format: 'date-time',
  description: "Time of the conversation's last message, or when the email was accepted.",
})

const ActivityItem = Type.Object(
  {
    type: Type.Enum(['conversation', 'email']),
    at: At,
    conversation: Type.Union([ConversationRecord, Type.Null()], {
      description: 'The conversation; null for an email.',
    }),
    email: Type.Union([EmailStats, Type.Null()], { description: 'The email; null for a conversation.' }),
  },
  {
    title: 'ContactActivity',
    example: { type: 'conversation', at: '2026-03-02T09:30:00.000Z', conversation: CONVERSATION_EXAMPLE, email: null },
  },
)

export const ActivityReply = Type.Object(
  {
    data: Type.Array(ActivityItem),
    nextBefore: nullableText('Cursor of the next page, to pass as `before`; null on the last page.'),
  },
  {
    description: 'One page of the activity.',
    example: {
      data: [{ type: 'email', at: EMAIL_STATS_EXAMPLE.sentAt, conversation: null, email: EMAIL_STATS_EXAMPLE }],
      nextBefore: null,
    },
  },
)

export const toActivityItem = (item: Activity, now: Date): Static<typeof ActivityItem> => ({
  type: 'conversation' in item ? 'conversation' : 'email',
  at: item.at.toISOString(),
  conversation: 'conversation' in item ? toConversationRecord(item.conversation, now) : null,
  email: 'email' in item ? toEmailStats(item.email) : null,
})
