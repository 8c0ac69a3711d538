import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Pool } from '../../db/connect.ts'
import { ROLES } from '../../http/admission/role.ts'
import { answerOnce } from '../../http/idempotency/idempotency.ts'
import { pathId, Success, Timestamp } from '../../http/shapes.ts'
import { badRequest } from '../../platform/errors.ts'
import { parseId } from '../../platform/ids.ts'
import {
  createQuickReply,
  listQuickReplies,
  MAX_QUICK_REPLIES,
  type QuickReply,
  quickReplyFaults,
  removeQuickReply,
  updateQuickReply,
} from './quick-reply.ts'

const PATH = '/public/v1/whatsapp/quick-replies'
const tags = ['Conversations']
const read = { permissions: ['WhatsApp'], roles: ROLES } as const
const write = { permissions: ['WhatsApp'], roles: ['developer'] } as const
const writeBody = { ...write, valueFaults: quickReplyFaults, errors: ['duplicate_resource'] } as const
const ById = Type.Object({ id: pathId('QuickReplyId', 'Quick reply id.') })

const Title = Type.String({
  minLength: 1,
  maxLength: 60,
  pattern: '^[^\\u0000-\\u001f\\u007f]*$',
  description: 'Title to choose after `/`. Must be unique in the company in any letter case.',
})
const Text = Type.String({
  minLength: 1,
  maxLength: 4_096,
  pattern: '^[^\\u0000]*$',
  description: "Text. The console replaces `{{name}}` with the contact's name.",
})
const VALUES = { title: 'thanks', text: 'Thank you {{name}}! We answer within the hour.' }

const QuickReplyBody = Type.Object({ title: Title, text: Text }, { title: 'NewQuickReply', example: VALUES })
const QuickReplyChangeBody = Type.Partial(QuickReplyBody, { title: 'QuickReplyChange', example: { text: VALUES.text } })
const QuickReplyRecord = Type.Object(
  { id: Type.Integer(), title: Type.String(), text: Type.String(), createdAt: Timestamp, updatedAt: Timestamp },
  {
    title: 'QuickReply',
    description: 'A reusable text for agents.',
    example: { id: 5, ...VALUES, createdAt: '2026-02-20T10:15:00.000Z', updatedAt: '2026-02-20T10:15:00.000Z' },
  },
)
const OneQuickReply = Type.Object(
  { data: QuickReplyRecord },
  { title: 'OneQuickReply', description: 'The quick reply.' },
)

/** Registers the quick reply endpoints (docs/conversations.md). */
export function quickReplyRoutes({ db }: { db: Pool }): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      PATH,
      {
        config: read,
        schema: {
          tags,
          operationId: 'listQuickReplies',
          summary: 'List quick replies',
          description: `Returns all by title, at most ${MAX_QUICK_REPLIES}.`,
          response: { 200: Type.Object({ data: Type.Array(QuickReplyRecord) }, { description: 'The quick replies.' }) },
        },
      },
      async ({ caller }) => ({ data: (await listQuickReplies(db, caller.companyId)).map(toRecord) }),
    )

    app.post(
      PATH,
      {
        config: writeBody,
        schema: {
          tags,
          operationId: 'createQuickReply',
          summary: 'Create a quick reply',
          description: `A title already used in the company, in any letter case, returns 409. A company can have at most ${MAX_QUICK_REPLIES}.`,
          body: QuickReplyBody,
          response: { 201: OneQuickReply },
        },
      },
      (request, reply) =>
        answerOnce(db, request, reply, 201, async (tx) => ({
          data: toRecord(await createQuickReply(tx, request.caller.companyId, request.body)),
        })),
    )

    app.patch(
      `${PATH}/:id`,
      {
        config: writeBody,
        schema: {
          tags,
          operationId: 'updateQuickReply',
          summary: 'Update a quick reply',
          description: 'Omitted members stay unchanged.',
          params: ById,
          body: QuickReplyChangeBody,
          response: { 200: OneQuickReply },
        },
      },
      async ({ caller, params, body }) => {
        if (body.title === undefined && body.text === undefined) throw badRequest('title or text must be given')
        return { data: toRecord(await updateQuickReply(db, caller.companyId, parseId(params.id), body)) }
      },
    )

    app.delete(
      `${PATH}/:id`,
      {
        config: write,
        schema: {
          tags,
          operationId: 'deleteQuickReply',
          summary: 'Delete a quick reply',
          description: 'Messages already sent with it stay.',
          params: ById,
          response: { 200: Success },
        },
      },
      async ({ caller, params }) => {
        await removeQuickReply(db, caller.companyId, parseId(params.id))
        return { success: true as const }
      },
    )
  }
}

const toRecord = ({ createdAt, updatedAt, ...record }: QuickReply) => ({
  ...record,
  createdAt: createdAt.toISOString(),
  updatedAt: updatedAt.toISOString(),
})
