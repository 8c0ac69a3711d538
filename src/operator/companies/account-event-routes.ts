import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { parseBefore } from '../../http/paging/paging.ts'
import { listAccountEvents } from '../../senders/account-event-store.ts'
import { companyNamed, type OperatorDeps } from '../operator.ts'
import { InCompany } from '../shape.ts'
import { ACCOUNT_EVENT_PAGE, AccountEventQuery, AccountEventReply, toAccountEventReply } from './account-event-shape.ts'

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
      async ({ query }) =>
        (await listAccountEvents(db, null, parseBefore(query, ACCOUNT_EVENT_PAGE))).map(toAccountEventReply),
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
      async ({ params, query }) => {
        const company = await companyNamed(db, params.id)
        return (await listAccountEvents(db, company.id, parseBefore(query, ACCOUNT_EVENT_PAGE))).map(
          toAccountEventReply,
        )
      },
    )
  }
}
