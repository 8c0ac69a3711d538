import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Db } from '../db/connect.ts'
import { badRequest, conversationNotFound } from '../errors.ts'
import { pageQuery, parseCursorId, parsePage, toPagination, unknownCursor } from '../http/paging.ts'
import { errorResponses, Pagination } from '../http/shapes.ts'
import { parseId } from '../ids.ts'
import {
  ConversationRecord,
  type MediaAddress,
  MessageRecord,
  toConversationRecord,
  toMessageRecord,
} from './conversation-reply.ts'
import {
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
const tags = ['Conversations']

const cursorQuery = {
  before: Type.Optional(
    Type.String({
      description: 'Instead of page: records that come after this id in the list. 422 for an unknown id.',
    }),
  ),
  after: Type.Optional(
    Type.String({
      description: 'Instead of page: records that come before this id in the list. 422 for an unknown id.',
    }),
  ),
}
const ChatId = Type.Object({ chatId: Type.String() })

type Deps = { db: Db; mediaAddress: MediaAddress }

export function conversationRoutes({ db, mediaAddress }: Deps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/public/v1/whatsapp/conversations',
      {
        config,
        schema: {
          tags,
          operationId: 'listConversations',
          summary: 'List conversations',
          description: 'Newest activity first.',
          querystring: Type.Object({ ...pageQuery(CONVERSATIONS), ...cursorQuery }),
          response: {
            200: Type.Object({ data: Type.Array(ConversationRecord), pagination: Pagination }),
            ...errorResponses(),
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
        return { data: rows.map(toConversationRecord), pagination: paginationOf(total, page, pageSize, cursor) }
      },
    )

    app.get(
      '/public/v1/whatsapp/conversations/:chatId/messages',
      {
        config,
        schema: {
          tags,
          operationId: 'listMessages',
          summary: 'List the messages of a conversation',
          description: 'Newest first. A page costs the same at any depth.',
          params: ChatId,
          querystring: Type.Object({ ...pageQuery(MESSAGES), ...cursorQuery }),
          response: {
            200: Type.Object({ data: Type.Array(MessageRecord), pagination: Pagination }),
            ...errorResponses({ 404: 'message' }),
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
          summary: 'Close, snooze or re-open a conversation, or mark it read',
          description: 'An inbound message re-opens a closed or snoozed conversation.',
          params: ChatId,
          body: Type.Object({
            status: Type.Optional(Type.Enum(['open', 'closed', 'snoozed'])),
            unreadMessages: Type.Optional(Type.Literal(0)),
          }),
          response: {
            200: Type.Object({ data: ConversationRecord }),
            ...errorResponses({ 400: 'coded', 404: 'message', 422: 'coded' }),
          },
        },
      },
      async (request) => {
        const { companyId } = request.caller
        const { status, unreadMessages } = request.body
        const { id } = await getConversation(db, companyId, request.params.chatId)
        if (status === undefined && unreadMessages === undefined) {
          throw badRequest('status or unreadMessages must be given')
        }
        await updateConversation(db, companyId, id, { status, unreadMessages })
        return { data: toConversationRecord(await getConversation(db, companyId, String(id))) }
      },
    )
  }
}

async function getConversation(db: Db, companyId: number, chatId: string) {
  const id = parseId(chatId)
  const conversation = id === undefined ? undefined : await findConversation(db, companyId, id)
  if (conversation === undefined) throw conversationNotFound()
  return conversation
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
