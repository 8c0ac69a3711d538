import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { getCompany } from '../companies/company.ts'
import type { Pool } from '../db/connect.ts'
import { answerOnce } from '../http/idempotency/idempotency.ts'
import { pathId } from '../http/shapes.ts'
import { companyNotFound } from '../platform/errors.ts'
import { parseId } from '../platform/ids.ts'
import type { Config } from '../platform/settings/config.ts'
import { SESSION_PERMISSIONS } from './session.ts'
import { SignInLinkBody, SignInLinkReply, toSignInLinkReply } from './session-shape.ts'
import { createSignInLink, linkFaults } from './sign-in-link.ts'

const InCompany = Type.Object({ id: pathId('CompanyId', 'Company id.') })
const summary = 'Create a sign-in link'

type Deps = { db: Pool; config: Pick<Config, 'baseUrl'>; operatorId: string }

/** Serves sign-in links, which companies create for users of their own systems. */
export function signInLinkRoutes({ db, config, operatorId }: Deps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.post(
      '/public/v1/console/sign-in-links',
      {
        config: { valueFaults: linkFaults },
        schema: {
          tags: ['Credentials'],
          operationId: 'createSignInLink',
          summary,
          description:
            'The link works once. Its session ends with the API key that created it, directly or through a console session; that session must have the role `admin`.',
          body: SignInLinkBody,
          response: { 201: SignInLinkReply },
        },
      },
      async (request, reply) => {
        const { caller, session, body } = request
        const creator = { ...caller, clientId: session?.credential ?? caller.clientId }
        return answerOnce(db, request, reply, 201, async (tx) =>
          toSignInLinkReply(await createSignInLink(tx, config.baseUrl, creator, body)),
        )
      },
    )

    app.post(
      '/admin/v1/companies/:id/sign-in-links',
      {
        config: { valueFaults: linkFaults, hasSecretAnswer: true },
        schema: {
          operationId: 'createSignInLinkForCompany',
          summary: `${summary} for a company`,
          description: 'The link works once. Its session ends when the operator token changes.',
          params: InCompany,
          body: SignInLinkBody,
          response: { 201: SignInLinkReply },
        },
      },
      async (request, reply) => {
        const id = parseId(request.params.id)
        if (id === undefined) throw companyNotFound()
        const company = await getCompany(db, id)
        const creator = { companyId: company.id, clientId: operatorId, permissions: SESSION_PERMISSIONS }
        return answerOnce(db, request, reply, 201, async (tx) =>
          toSignInLinkReply(await createSignInLink(tx, config.baseUrl, creator, request.body)),
        )
      },
    )
  }
}
