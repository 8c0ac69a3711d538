import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Db } from '../db/connect.ts'
import { pageQuery, parsePage, toPagination } from '../http/paging.ts'
import { errorResponses, Pagination } from '../http/shapes.ts'
import { type SenderRow, selectSenderPage } from './sender-store.ts'

export type SenderRoutesDeps = { db: Db }

const SenderReply = Type.Object(
  {
    phoneNumber: Type.String({ description: 'Display phone number; what to pass as `sender`' }),
    phoneName: Type.String({ description: 'Display name of the business' }),
    phoneNumberId: Type.String({ description: "The provider's id of the number; also accepted as `sender`" }),
    isPreferred: Type.Boolean({ description: 'Whether a send that names no sender goes out from this number' }),
  },
  { description: 'A connected WhatsApp number' },
)

const PAGES = { defaultSize: 20, maxSize: 100 }

const ListSenders = {
  tags: ['WhatsApp'],
  operationId: 'listSenders',
  summary: 'List the connected numbers',
  description: 'Ordered by the time of connection. Exactly one number is preferred. Without any number: empty.',
  querystring: Type.Object(pageQuery(PAGES)),
  response: {
    200: Type.Object({ items: Type.Array(SenderReply), pagination: Pagination }),
    ...errorResponses(),
  },
}

/** The senders list (spec: GET /public/v1/templates/whatsapp/senders), for any key that holds WhatsApp or Transactional. */
export function senderRoutes(deps: SenderRoutesDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/public/v1/templates/whatsapp/senders',
      { config: { surface: 'api-key', permissions: ['WhatsApp', 'Transactional'] }, schema: ListSenders },
      async (request) => {
        const { page, pageSize, offset } = parsePage(request.query, PAGES)
        const { rows, total } = await selectSenderPage(deps.db, request.caller.companyId, { limit: pageSize, offset })
        return { items: rows.map(toSenderReply), pagination: toPagination(total, page, pageSize) }
      },
    )
  }
}

/** A number as its company sees it: without its credentials. */
const toSenderReply = (sender: SenderRow) => ({
  phoneNumber: sender.phoneNumber,
  phoneName: sender.phoneName,
  phoneNumberId: sender.phoneNumberId,
  isPreferred: sender.isPreferred,
})
