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
          summary: 'List what providers reported about accounts',
          description:
            'Returns the newest events of all companies first: restrictions and bans, reviews, alerts, limits, and changes of templates. They are kept for 90 days, at most 1,000 of one company and hour.',
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
          summary: 'List what providers reported about the accounts of a company',
          description: 'As `listAccountEvents`, of one company.',
          params: InCompany,
          querystring: AccountEventQuery,
          response,
        },
      },
      async ({ params, query }) => accountEventPage(db, (await companyNamed(db, params.id)).id, query),
    )
  }
}
