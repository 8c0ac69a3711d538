import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { endSuppression, listSuppressions } from '../../emails/suppression/suppression.ts'
import { Success } from '../../http/shapes.ts'
import { companyIdNamed, type OperatorDeps, succeed } from '../operator.ts'
import { InCompany } from '../shape.ts'
import { MOST_SUPPRESSIONS, SuppressionReply, toSuppressionReply } from './suppression-shape.ts'

const PATH = '/admin/v1/companies/:id/email-suppressions'

const OneAddress = Type.Object({
  id: InCompany.properties.id,
  address: Type.String({ maxLength: 300, description: 'Email address, URL-encoded.' }),
})

export function suppressionRoutes(deps: OperatorDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      PATH,
      {
        config: { errors: ['validation_error'] },
        schema: {
          operationId: 'listEmailSuppressions',
          summary: 'List suppressed email addresses',
          description: 'Returns addresses that get no marketing email, in alphabetical order.',
          params: InCompany,
          querystring: Type.Object({
            after: Type.Optional(Type.String({ maxLength: 300, description: 'Last address of the previous page.' })),
            limit: Type.Optional(
              Type.Integer({ minimum: 1, maximum: MOST_SUPPRESSIONS, description: 'By default 25.' }),
            ),
          }),
          response: { 200: Type.Array(SuppressionReply, { description: 'One page of addresses.' }) },
        },
      },
      async ({ params, query }) => {
        const companyId = await companyIdNamed(deps.db, params.id)
        const { after = '', limit = 25 } = query
        return (await listSuppressions(deps.db, companyId, { after, limit })).map(toSuppressionReply)
      },
    )

    app.delete(
      `${PATH}/:address`,
      {
        schema: {
          operationId: 'endEmailSuppression',
          summary: 'End an email suppression',
          description: 'Marketing email to the address resumes. Withdrawn consent stays withdrawn.',
          params: OneAddress,
          response: { 200: Success },
        },
      },
      async ({ params }) => succeed(endSuppression(deps, await companyIdNamed(deps.db, params.id), params.address)),
    )
  }
}
