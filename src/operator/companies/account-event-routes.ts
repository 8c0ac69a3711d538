import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { accountEventPage, companyNamed, type OperatorDeps } from '../operator.ts'
import { InCompany } from '../shape.ts'
import { AccountEventQuery, AccountEventReply } from './account-event-shape.ts'

const config = { errors: ['validation_error'] } as const
const response = { 200: Type.Array(AccountEventReply, { description: 'One page of events.' }) }

export function accountEventRoutes({ db }: OperatorDeps): FastifyPluginAsyncTypebox {
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
      async ({ query }) => accountEventPage(db, null, query),
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
      async ({ params, query }) => accountEventPage(db, (await companyNamed(db, params.id)).id, query),
    )
  }
}
