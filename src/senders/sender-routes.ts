import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Db } from '../db/connect.ts'
import { ROLES } from '../http/admission/role.ts'
import { pageQuery, parsePage, readCursor, toPagination, withoutPages } from '../http/paging/paging.ts'
import { nullableText, Pagination } from '../http/shapes.ts'
import { type SenderRow, selectSenderPage } from './sender-store.ts'

type SenderRoutesDeps = { db: Db }

const SenderReply = Type.Object(
  {
    channelId: Type.Integer({ description: 'Id for filtering conversations.' }),
    phoneNumber: Type.String({ description: 'Display phone number, accepted as `sender` of a send.' }),
    phoneName: Type.String({ description: 'Display name of the business.' }),
    phoneNumberId: Type.String({
      description: "The number's id at the provider, also accepted as `sender` of a send.",
    }),
    isPreferred: Type.Boolean({ description: 'Whether sends without `sender` use this number.' }),
  },
  {
    title: 'Sender',
    description: 'A connected WhatsApp number.',
    example: {
      channelId: 31,
      phoneNumber: '+39 06 5550 1234',
      phoneName: 'Rossi Shoes',
      phoneNumberId: '106540352242922',
      isPreferred: true,
    },
  },
)

const PAGES = { defaultSize: 20, maxSize: 100 }

const SenderPagination = Type.Object(
  {
    ...Pagination.properties,
    nextCursor: nullableText('Cursor of the next page, to pass as `after`; null on the last page.'),
  },
  {
    title: 'SenderPagination',
    example: { totalRecords: 1, currentPage: 1, totalPages: 1, nextPage: null, prevPage: null, nextCursor: null },
  },
)

const ListSenders = {
  tags: ['WhatsApp'],
  operationId: 'listSenders',
  summary: 'List connected numbers',
  description: 'Returns the numbers in connection order. Exactly one is preferred. Empty if no number is connected.',
  querystring: Type.Object({
    ...pageQuery(PAGES),
    after: Type.Optional(
      Type.String({
        title: 'AfterSender',
        description: 'Returns the numbers after this `channelId` instead of a page. Any other value returns 422.',
      }),
    ),
  }),
  response: {
    200: Type.Object(
      { items: Type.Array(SenderReply), pagination: SenderPagination },
      { description: 'One page of numbers.' },
    ),
  },
}

/** Serves the senders list (spec: GET /public/v1/templates/whatsapp/senders). */
export function senderRoutes(deps: SenderRoutesDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/public/v1/templates/whatsapp/senders',
      {
        config: {
          surface: 'api-key',
          permissions: ['WhatsApp', 'Transactional'],
          roles: ROLES,
          errors: ['validation_error'],
        },
        schema: ListSenders,
      },
      async (request) => {
        const after = readCursor(request.query)?.id
        const { page, pageSize, offset } = parsePage(
          after === undefined ? request.query : { ...request.query, page: 1 },
          PAGES,
        )
        const range = { limit: pageSize, offset, after }
        const { rows, total, next } = await selectSenderPage(deps.db, request.caller.companyId, range)
        const pages = toPagination(total, page, pageSize)
        return {
          items: rows.map(toSenderReply),
          pagination: { ...(after === undefined ? pages : withoutPages(pages)), nextCursor: next?.toString() ?? null },
        }
      },
    )
  }
}

/** Must not contain credentials. */
const toSenderReply = (sender: SenderRow) => ({
  channelId: sender.id,
  phoneNumber: sender.phoneNumber,
  phoneName: sender.phoneName,
  phoneNumberId: sender.phoneNumberId,
  isPreferred: sender.isPreferred,
})
