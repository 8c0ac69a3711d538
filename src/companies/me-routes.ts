import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Db } from '../db/connect.ts'
import { PERMISSIONS } from '../http/admission/caller.ts'
import { ROLES } from '../http/admission/role.ts'
import { getCompany } from './company.ts'

const Me = Type.Object(
  {
    company: Type.Object({ id: Type.Integer(), name: Type.String() }),
    name: Type.String({ description: 'The name of the API key or session.' }),
    permissions: Type.Array(Type.Enum([...PERMISSIONS])),
    settings: Type.Object({
      readReceipts: Type.Boolean({
        description: 'Whether the console shows customers that an agent has read their messages and is writing.',
      }),
    }),
    limits: Type.Object({
      requestsPerMinute: Type.Integer({
        description: 'The requests that all API keys of the company share; of a key for browsers, its own.',
      }),
    }),
  },
  {
    title: 'Me',
    example: {
      company: { id: 1, name: 'Rossi Shoes' },
      name: 'Shop',
      permissions: ['WhatsApp'],
      settings: { readReceipts: true },
      limits: { requestsPerMinute: 100 },
    },
  },
)

/** The company and permissions of a credential (console: section 5). */
export function meRoutes({ db }: { db: Db }): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/public/v1/me',
      {
        config: { permissions: PERMISSIONS, roles: ROLES },
        schema: {
          tags: ['Credentials'],
          operationId: 'getMe',
          summary: 'Get the company and permissions of the credential',
          description: 'Takes any API key.',
          response: {
            200: Type.Object({ data: Me }, { description: 'The company and permissions of the credential.' }),
          },
        },
      },
      async ({ caller }) => {
        const { id, name, readReceipts } = await getCompany(db, caller.companyId)
        const limits = { requestsPerMinute: caller.browser?.limits.ofKey ?? caller.rateLimitPerMinute }
        const data = {
          company: { id, name },
          name: caller.keyName,
          permissions: [...caller.permissions],
          settings: { readReceipts },
          limits,
        }
        return { data }
      },
    )
  }
}
