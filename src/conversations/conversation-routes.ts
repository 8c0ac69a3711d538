import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Db } from '../db/connect.ts'
import { badRequest, conversationNotFound } from '../errors.ts'
import { pageQuery, parseCursorId, parsePage, toPagination, unknownCursor } from '../http/paging.ts'
import { Pagination, pathId } from '../http/shapes.ts'
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
const ChatId = Type.Object({ chatId: pathId('ChatId', 'The id of the conversation.') })

type Deps = { db: Db; mediaAddress: MediaAddress }

export function conversationRoutes({ db, mediaAddress }: Deps): FastifyPluginAsyncTypebox {
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
        return { data: rows.map(toConversationRecord), pagination: paginationOf(total, page, pageSize, cursor) }
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
          summary: 'Close, snooze or re-open a conversation, or mark it read',
          description:
            'Changes the members that are given. An inbound message re-opens a closed or snoozed conversation.',
          params: ChatId,
          body: Type.Object(
            {
              status: Type.Optional(Type.Enum(['open', 'closed', 'snoozed'])),
              unreadMessages: Type.Optional(Type.Literal(0, { description: 'Marks the conversation as read.' })),
            },
            { title: 'ConversationChange', example: { status: 'closed', unreadMessages: 0 } },
          ),
          response: {
            200: Type.Object({ data: ConversationRecord }, { description: 'The changed conversation.' }),
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
