import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import {
  apiKeyFaults,
  changeApiKey,
  createApiKey,
  listApiKeys,
  type NewApiKey,
  revokeApiKey,
} from '../../companies/api-key.ts'
import { checkWritableFields, writableFieldFaults } from '../../contacts/write/browser-write.ts'
import { answerOnce } from '../../http/idempotency/idempotency.ts'
import { Success } from '../../http/shapes.ts'
import { companyIdNamed, type OperatorDeps, succeed } from '../operator.ts'
import { InCompany } from '../shape.ts'
import {
  ApiKeyChangeBody,
  ApiKeyReply,
  NewApiKeyBody,
  NewApiKeyReply,
  toApiKeyReply,
  toNewApiKeyReply,
} from './api-key-shape.ts'

const OneKey = Type.Object({
  id: InCompany.properties.id,
  clientId: Type.String({ description: 'Public half of the key.' }),
})

const fieldFaults = (body: { writableFields?: unknown }) => writableFieldFaults(body.writableFields)

export function apiKeyRoutes(deps: OperatorDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.post(
      '/admin/v1/companies/:id/api-keys',
      {
        config: {
          hasSecretAnswer: true,
          valueFaults: (body: Partial<NewApiKey>) => [...apiKeyFaults(body, deps.clock), ...fieldFaults(body)],
        },
        schema: {
          operationId: 'createApiKey',
          summary: 'Create an API key',
          description: 'The token is returned only once.',
          params: InCompany,
          body: NewApiKeyBody,
          response: { 201: NewApiKeyReply },
        },
      },
      async (request, reply) => {
        checkWritableFields(request.body.writableFields)
        const companyId = await companyIdNamed(deps.db, request.params.id)
        return answerOnce(deps.db, request, reply, 201, async (tx) =>
          toNewApiKeyReply(await createApiKey({ ...deps, db: tx }, companyId, request.body)),
        )
      },
    )

    app.get(
      '/admin/v1/companies/:id/api-keys',
      {
        schema: {
          operationId: 'listApiKeys',
          summary: 'List active API keys',
          description: 'Returns unrevoked keys without their secrets.',
          params: InCompany,
          response: { 200: Type.Array(ApiKeyReply, { description: 'All of them.' }) },
        },
      },
      async ({ params }) => (await listApiKeys(deps.db, await companyIdNamed(deps.db, params.id))).map(toApiKeyReply),
    )

    app.patch(
      '/admin/v1/companies/:id/api-keys/:clientId',
      {
        config: { valueFaults: fieldFaults },
        schema: {
          operationId: 'changeApiKey',
          summary: 'Update a browser API key',
          description: 'Takes effect within 5 seconds on every node.',
          params: OneKey,
          body: ApiKeyChangeBody,
          response: { 200: ApiKeyReply },
        },
      },
      async (request) => {
        checkWritableFields(request.body.writableFields)
        const companyId = await companyIdNamed(deps.db, request.params.id)
        return toApiKeyReply(await changeApiKey(deps, companyId, request.params.clientId, request.body))
      },
    )

    app.delete(
      '/admin/v1/companies/:id/api-keys/:clientId',
      {
        schema: {
          operationId: 'revokeApiKey',
          summary: 'Revoke an API key',
          description: 'Stops working within 5 seconds on every node.',
          params: OneKey,
          response: { 200: Success },
        },
      },
      async ({ params }) => succeed(revokeApiKey(deps, await companyIdNamed(deps.db, params.id), params.clientId)),
    )
  }
}
