import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Clock } from '../clock.ts'
import type { Db } from '../db/connect.ts'
import { badRequest, type FieldFault, validationError } from '../errors.ts'
import { pageQuery, parseCursorId, parsePage, toPagination, unknownCursor } from '../http/paging.ts'
import { Pagination } from '../http/shapes.ts'
import { getConversation } from './conversation.ts'
import {
  ChatId,
  ConversationRecord,
  type MediaAddress,
  MessageRecord,
  toConversationRecord,
  toMessageRecord,
} from './conversation-reply.ts'
import {
  type ConversationChange,
  type Cursor,
  findConversation,
  findSeq,
  listConversations,
  listConversationsFrom,
  listMessages,
  readConversationTotal,
  updateConversation,
} from './conversation-store.ts'

const CONVERSATIONS = { defaultSize: 20, maxSize: 100 }
const MESSAGES = { defaultSize: 30, maxSize: 100 }
const config = { permissions: ['WhatsApp'] } as const
/** The lists refuse an unknown cursor. */
const listConfig = { ...config, errors: ['validation_error'] } as const
const tags = ['Conversations']

const cursorQuery = {
  before: Type.Optional(
    Type.String({
      title: 'Before',
      description:
        'Returns the records that follow this id in the list, instead of a page. An unknown id is answered 422.',
    }),
  ),
  after: Type.Optional(
    Type.String({
      title: 'After',
      description:
        'Returns the records that precede this id in the list, instead of a page. An unknown id is answered 422.',
    }),
  ),
}

const OneConversation = Type.Object(
  { data: ConversationRecord },
  { title: 'OneConversation', description: 'The conversation.' },
)
const BLANK_ASSIGNEE: FieldFault = { path: 'assignee', message: 'must not be blank' }

type Deps = { db: Db; clock: Clock; mediaAddress: MediaAddress }

export function conversationRoutes({ db, clock, mediaAddress }: Deps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/public/v1/whatsapp/conversations',
      {
        config: listConfig,
        schema: {
          tags,
          operationId: 'listConversations',
          summary: 'List conversations',
          description: 'The conversation with the latest activity comes first.',
          querystring: Type.Object({ ...pageQuery(CONVERSATIONS), ...cursorQuery }),
          response: {
            200: Type.Object(
              { data: Type.Array(ConversationRecord), pagination: Pagination },
              { description: 'One page of conversations.' },
            ),
          },
        },
      },
      async (request) => {
        const { companyId } = request.caller
        const { page, pageSize, offset } = parsePage(request.query, CONVERSATIONS)
        const cursor = readCursor(request.query)
        const total = await readConversationTotal(db, companyId)
        const rows = cursor
          ? await listFrom(db, companyId, cursor, pageSize)
          : await listConversations(db, companyId, { offset, limit: pageSize, total })
        const now = clock.now()
        return {
          data: rows.map((row) => toConversationRecord(row, now)),
          pagination: paginationOf(total, page, pageSize, cursor),
        }
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
          description: 'Returns the record that the list has.',
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
          summary: 'List the messages of a conversation',
          description: 'The newest message comes first. A page takes the same time at any depth of the conversation.',
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
        const range = cursor
          ? await rangeFrom(db, companyId, conversation.id, cursor, pageSize)
          : { from: newest - pageSize + 1, to: newest }
        const rows = await listMessages(db, companyId, conversation.id, range)
        return {
          data: rows.map((row) => toMessageRecord(row, companyId, mediaAddress)),
          pagination: paginationOf(conversation.messageCount - conversation.expiredCount, page, pageSize, cursor),
        }
      },
    )

    app.patch(
      '/public/v1/whatsapp/conversations/:chatId',
      {
        config,
        schema: {
          tags,
          operationId: 'updateConversation',
          summary: 'Close, snooze, re-open or assign a conversation, or mark it read',
          description:
            'Changes the members that are given. An inbound message re-opens a closed or snoozed conversation.',
          params: ChatId,
          body: Type.Object(
            {
              status: Type.Optional(Type.Enum(['open', 'closed', 'snoozed'])),
              unreadMessages: Type.Optional(Type.Literal(0, { description: 'Marks the conversation as read.' })),
              assignee: Type.Optional(
                Type.Unsafe<string | null>({
                  type: ['string', 'null'],
                  minLength: 1,
                  maxLength: 100,
                  description: 'The name of the person who answers.',
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
        return { data: toConversationRecord(await getConversation(db, companyId, String(id)), clock.now()) }
      },
    )
  }
}

/** The members of a change, the assignee without blanks at its ends; 422 when nothing is left of it. */
function trimmed({ status, unreadMessages, assignee: given }: ConversationChange): ConversationChange {
  const assignee = given?.trim() ?? given
  if (assignee === '') throw validationError([BLANK_ASSIGNEE])
  return { status, unreadMessages, assignee }
}

function readCursor(query: { before?: string; after?: string }): Cursor | undefined {
  const side = query.before === undefined ? 'after' : 'before'
  const text = query[side]
  return text === undefined ? undefined : { side, id: parseCursorId(text, side) }
}

async function listFrom(db: Db, companyId: number, cursor: Cursor, pageSize: number) {
  const rows = await listConversationsFrom(db, companyId, cursor, pageSize)
  if (rows.length === 0 && (await findConversation(db, companyId, cursor.id)) === undefined) {
    throw unknownCursor(cursor.side)
  }
  return rows
}

async function rangeFrom(db: Db, companyId: number, conversationId: number, { side, id }: Cursor, pageSize: number) {
  const seq = await findSeq(db, companyId, conversationId, id)
  if (seq === undefined) throw unknownCursor(side)
  return side === 'before' ? { from: seq - pageSize, to: seq - 1 } : { from: seq + 1, to: seq + pageSize }
}

/** With a cursor the caller walks by ids: pages have no numbers. */
function paginationOf(total: number, page: number, pageSize: number, cursor: Cursor | undefined) {
  if (cursor === undefined) return toPagination(total, page, pageSize)
  return { ...toPagination(total, 1, pageSize), nextPage: null, prevPage: null }
}
