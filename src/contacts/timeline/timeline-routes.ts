import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import {
  CONVERSATION_EXAMPLE,
  ConversationRecord,
  toConversationRecord,
} from '../../conversations/conversation-reply.ts'
import type { Pool } from '../../db/connect.ts'
import { EMAIL_STATS_EXAMPLE, EmailStats, toEmailStats } from '../../emails/email-shape.ts'
import { limitQuery, parsePage } from '../../http/paging/paging.ts'
import { nullableText, nullableTime, pathId } from '../../http/shapes.ts'
import type { Clock } from '../../platform/clock.ts'
import { contactIdOf, getContact } from '../contact.ts'
import {
  type Activity,
  type ConsentHistoryEntry,
  HISTORY_MAX,
  readActivity,
  readConsentHistory,
} from './contact-timeline.ts'

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

const ConsentHistoryReply = Type.Object(
  { data: Type.Array(ConsentEntry) },
  { description: `The ${HISTORY_MAX} newest entries.` },
)

const toConsentEntry = (entry: ConsentHistoryEntry): Static<typeof ConsentEntry> => ({
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

const ActivityReply = Type.Object(
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

const toActivityItem = (item: Activity, now: Date): Static<typeof ActivityItem> => ({
  type: 'conversation' in item ? 'conversation' : 'email',
  at: item.at.toISOString(),
  conversation: 'conversation' in item ? toConversationRecord(item.conversation, now) : null,
  email: 'email' in item ? toEmailStats(item.email) : null,
})

type TimelineDeps = { db: Pool; clock: Clock }

const TAGS = ['Contacts']
const READS = { surface: 'api-key', permissions: ['WhatsApp', 'Transactional'], roles: ['agent'] } as const
const LIMITS = { defaultSize: 25, maxSize: 100 }
const ById = Type.Object({ id: pathId('ContactId', 'Contact id.') })

/** Registers the contact history endpoints. */
export function contactTimelineRoutes({ db, clock }: TimelineDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/public/v1/contacts/:id/consent',
      {
        config: READS,
        schema: {
          tags: TAGS,
          operationId: 'listConsent',
          summary: "Get a contact's consent history",
          description:
            "Returns marketing statements made through the contact, or under its address, its number and its customers' current identities, newest first.",
          params: ById,
          response: { 200: ConsentHistoryReply },
        },
      },
      async (request) => {
        const { companyId } = request.caller
        const { id } = await getContact(db, companyId, contactIdOf(request.params.id))
        return { data: (await readConsentHistory(db, companyId, id)).map(toConsentEntry) }
      },
    )

    app.get(
      '/public/v1/contacts/:id/activity',
      {
        config: { ...READS, errors: ['validation_error'] },
        schema: {
          tags: TAGS,
          operationId: 'listActivity',
          summary: "List a contact's activity",
          description:
            "Returns the contact's conversations, by last activity, and emails to the current address, newest first. Conversations require the permission `WhatsApp`, emails `Transactional`; without it they are left out.",
          params: ById,
          querystring: Type.Object({
            limit: limitQuery(LIMITS).limit,
            before: Type.Optional(Type.String({ description: 'Cursor from the previous page.' })),
          }),
          response: { 200: ActivityReply },
        },
      },
      async (request) => {
        const { companyId, permissions } = request.caller
        const contact = await getContact(db, companyId, contactIdOf(request.params.id))
        const { items, nextBefore } = await readActivity(db, companyId, contact, {
          before: request.query.before,
          limit: parsePage(request.query, LIMITS).pageSize,
          hasConversations: permissions.includes('WhatsApp'),
          hasEmails: permissions.includes('Transactional'),
        })
        return { data: items.map((item) => toActivityItem(item, clock.now())), nextBefore }
      },
    )
  }
}
