import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Publish } from '../changes/live-change.ts'
import type { Db } from '../db/connect.ts'
import { completeKey } from '../http/idempotency/idempotency.ts'
import { hiddenMatchesMember } from '../http/paging/hidden-matches.ts'
import {
  type Cursor,
  cursorQuery,
  pageQuery,
  parsePage,
  readCursor,
  toPagination,
  withoutPages,
} from '../http/paging/paging.ts'
import { Pagination, pathId } from '../http/shapes.ts'
import type { Clock } from '../platform/clock.ts'
import { badRequest, type FieldFault, messageNotFound, validationError } from '../platform/errors.ts'
import { parseId } from '../platform/ids.ts'
import { keepAssignee, MAX_ASSIGNEE_CHARACTERS } from './assignees/assignee-store.ts'
import { ChatId, ConversationPagination, ConversationRecord, toConversationRecord } from './conversation-reply.ts'
import {
  type ConversationChange,
  findMessageDetails,
  findPlace,
  getConversation,
  listMessages,
  updateConversation,
} from './conversation-store.ts'
import { ConversationQuery, readConversationPage } from './list/conversation-list.ts'
import type { Conversation } from './list/conversation-list-store.ts'
import type { MatchContacts } from './list/profile-search.ts'
import {
  type MediaAddress,
  MessageDetailsRecord,
  MessageRecord,
  toMessageDetails,
  toMessageRecord,
} from './message-reply.ts'

const MESSAGES = { defaultSize: 30, maxSize: 100 }
const config = { permissions: ['WhatsApp'], roles: ['agent'] } as const
const listConfig = { ...config, errors: ['validation_error'] } as const
const tags = ['Conversations']

const OneConversation = Type.Object(
  { data: ConversationRecord },
  { title: 'OneConversation', description: 'The conversation.' },
)
const BLANK_ASSIGNEE: FieldFault = { path: 'assignee', message: 'must not be blank' }

type Deps = { db: Db; clock: Clock; mediaAddress: MediaAddress; matchContacts: MatchContacts; publish: Publish }

/** Registers the conversation endpoints (spec: Conversations and messages). */
export function conversationRoutes({
  db,
  clock,
  mediaAddress,
  matchContacts,
  publish,
}: Deps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/public/v1/whatsapp/conversations',
      {
        config: listConfig,
        schema: {
          tags,
          operationId: 'listConversations',
          summary: 'List conversations',
          description: 'Latest activity first. With a filter, pages reach the 10,000th record, cursors the end.',
          querystring: ConversationQuery,
          response: {
            200: Type.Object(
              {
                data: Type.Array(ConversationRecord),
                pagination: ConversationPagination,
                hiddenMatches: hiddenMatchesMember,
              },
              { description: 'One page of conversations.' },
            ),
          },
        },
      },
      async (request) => {
        const { caller, query } = request
        const { rows, ...around } = await readConversationPage(db, caller.companyId, query, matchContacts)
        const now = clock.now()
        return { data: rows.map((row) => toConversationRecord(row, now)), ...around }
      },
    )

    app.get(
      '/public/v1/whatsapp/conversations/:chatId',
      {
        config,
        schema: {
          tags,
          operationId: 'getConversation',
          summary: 'Get a conversation',
          description: 'Returns the record as in the list.',
          params: ChatId,
          response: { 200: OneConversation },
        },
      },
      async (request) => {
        const conversation = await getConversation(db, request.caller.companyId, request.params.chatId)
        return { data: toConversationRecord(conversation, clock.now()) }
      },
    )

    app.get(
      '/public/v1/whatsapp/conversations/:chatId/messages',
      {
        config: listConfig,
        schema: {
          tags,
          operationId: 'listMessages',
          summary: 'List messages',
          description: 'Newest first. A page takes the same time at any depth.',
          params: ChatId,
          querystring: Type.Object({ ...pageQuery(MESSAGES), ...cursorQuery }),
          response: {
            200: Type.Object(
              { data: Type.Array(MessageRecord), pagination: Pagination },
              { description: 'One page of messages.' },
            ),
          },
        },
      },
      async (request) => {
        const { companyId } = request.caller
        const { page, pageSize, offset } = parsePage(request.query, MESSAGES)
        const cursor = readCursor(request.query)
        const conversation = await getConversation(db, companyId, request.params.chatId)
        const newest = conversation.messageCount - offset
        const total = conversation.messageCount - conversation.expiredCount
        const range = cursor
          ? await rangeFrom(db, companyId, conversation, cursor, pageSize)
          : { from: newest - pageSize + 1, to: newest }
        const rows = await listMessages(db, companyId, conversation, range)
        return {
          data: rows.map((row) => toMessageRecord(row, companyId, mediaAddress)),
          pagination: cursor ? withoutPages(toPagination(total, 1, pageSize)) : toPagination(total, page, pageSize),
        }
      },
    )

    app.get(
      '/public/v1/whatsapp/conversations/:chatId/messages/:id',
      {
        config,
        schema: {
          tags,
          operationId: 'getMessage',
          summary: 'Get a message',
          description: 'Includes statuses, kept for 30 days, and deliveries, kept as long as their log.',
          params: Type.Object({ ...ChatId.properties, id: pathId('MessageId', 'Message id.') }),
          response: { 200: Type.Object({ data: MessageDetailsRecord }, { description: 'The message.' }) },
        },
      },
      async ({ caller: { companyId }, params }) => {
        const conversation = await getConversation(db, companyId, params.chatId)
        const id = parseId(params.id)
        const details = id === undefined ? undefined : await findMessageDetails(db, companyId, conversation.id, id)
        if (details === undefined) throw messageNotFound()
        return { data: toMessageDetails(details, companyId, mediaAddress) }
      },
    )

    app.post(
      '/public/v1/whatsapp/conversations/:chatId/answering',
      {
        config,
        schema: {
          tags,
          operationId: 'showAnswering',
          summary: 'Announce an answering agent',
          description: "Sends `answering` with the credential's name to open streams; nothing is stored.",
          params: ChatId,
          response: { 204: Type.Null({ description: 'The streams are notified.' }) },
        },
      },
      async (request, reply) => {
        const { companyId, keyName: name } = request.caller
        const { id: chatId } = await getConversation(db, companyId, request.params.chatId)
        await completeKey(db, request, reply, 204, null)
        publish([{ topic: 'answering', companyId, chatId, name }])
        return reply.code(204).send(null)
      },
    )

    app.patch(
      '/public/v1/whatsapp/conversations/:chatId',
      {
        config,
        schema: {
          tags,
          operationId: 'updateConversation',
          summary: 'Update a conversation',
          description:
            'Closes, snoozes, re-opens or assigns the conversation, or marks it read. Omitted members stay unchanged. An inbound message re-opens a closed or snoozed conversation.',
          params: ChatId,
          body: Type.Object(
            {
              status: Type.Optional(Type.Enum(['open', 'closed', 'snoozed'])),
              unreadMessages: Type.Optional(Type.Literal(0, { description: 'Marks the conversation as read.' })),
              assignee: Type.Optional(
                Type.Unsafe<string | null>({
                  type: ['string', 'null'],
                  minLength: 1,
                  maxLength: MAX_ASSIGNEE_CHARACTERS,
                  description: 'Name of the person who answers.',
                }),
              ),
            },
            { title: 'ConversationChange', example: { status: 'closed', unreadMessages: 0 } },
          ),
          response: { 200: OneConversation },
        },
      },
      async (request) => {
        const { companyId } = request.caller
        const change = trimmed(request.body)
        const { id } = await getConversation(db, companyId, request.params.chatId)
        if (Object.values(change).every((value) => value === undefined)) {
          throw badRequest('status, unreadMessages or assignee must be given')
        }
        await updateConversation(db, companyId, id, change)
        if (change.assignee) await keepAssignee(db, companyId, change.assignee)
        publish([{ topic: 'conversation', companyId, id }])
        return { data: toConversationRecord(await getConversation(db, companyId, String(id)), clock.now()) }
      },
    )
  }
}

function trimmed({ status, unreadMessages, assignee: requested }: ConversationChange): ConversationChange {
  const assignee = requested?.trim() ?? requested
  if (assignee === '') throw validationError([BLANK_ASSIGNEE])
  return { status, unreadMessages, assignee }
}

async function rangeFrom(
  db: Db,
  companyId: number,
  conversation: Conversation,
  { side, id }: Cursor,
  pageSize: number,
) {
  const seq = await findPlace(db, companyId, conversation, side === 'before' ? id - 1 : id)
  return side === 'before' ? { from: seq - pageSize + 1, to: seq } : { from: seq + 1, to: seq + pageSize }
}
