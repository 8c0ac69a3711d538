import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { parseBefore } from '../../http/paging/paging.ts'
import { listAccountEvents } from '../../senders/account-event-store.ts'
import { companyIdNamed, type OperatorDeps } from '../operator.ts'
import { InCompany } from '../shape.ts'
import { ACCOUNT_EVENT_PAGE, AccountEventQuery, AccountEventReply, toAccountEventReply } from './account-event-shape.ts'

const config = { errors: ['validation_error'] } as const
const response = { 200: Type.Array(AccountEventReply, { description: 'One page of events.' }) }

export function accountEventRoutes({ db }: OperatorDeps): FastifyPluginAsyncTypebox {
  const listPage = async (companyId: number | null, query: Static<typeof AccountEventQuery>) =>
    (await listAccountEvents(db, companyId, parseBefore(query, ACCOUNT_EVENT_PAGE))).map(toAccountEventReply)
  return async (app) => {
    app.get(
      '/admin/v1/account-events',
      {
        config,
        schema: {
          operationId: 'listAccountEvents',
          summary: 'List account events',
          description:
            "Returns provider reports about all companies' accounts, newest first: restrictions and bans, reviews, alerts, limits, and template changes. Kept for 90 days, at most 1,000 per company and hour.",
          querystring: AccountEventQuery,
          response,
        },
      },
      ({ query }) => listPage(null, query),
    )

    app.get(
      '/admin/v1/companies/:id/account-events',
      {
        config,
        schema: {
          operationId: 'listCompanyAccountEvents',
          summary: "List a company's account events",
          description: 'Same as `listAccountEvents`, for one company.',
          params: InCompany,
          querystring: AccountEventQuery,
          response,
        },
      },
      async ({ params, query }) => listPage(await companyIdNamed(db, params.id), query),
    )
  }
}
