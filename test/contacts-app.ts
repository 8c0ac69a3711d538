import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, { type FastifyInstance } from 'fastify'
import { contactRoutes } from '../src/contacts/contact-routes.ts'
import { customFieldRoutes } from '../src/custom-fields/custom-field-routes.ts'
import type { Pool } from '../src/db/connect.ts'
import { AppError, badRequest, internalError, payloadTooLarge } from '../src/errors.ts'
import type { Caller } from '../src/http/caller.ts'

/** The contact and custom field routes behind the least of a server; `x-caller` is the caller, as JSON. */
export async function contactsApp(db: Pool): Promise<FastifyInstance> {
  const app = Fastify({ ajv: { customOptions: { coerceTypes: false, allErrors: true } } })
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => {
    try {
      done(null, JSON.parse(String(body)))
    } catch {
      done(badRequest('The body is not JSON'))
    }
  })
  app.addHook('onRequest', async (request) => {
    request.caller = JSON.parse(String(request.headers['x-caller'])) as Caller
  })
  app.setErrorHandler((error: Error & { statusCode?: number; code?: string }, _request, reply) => {
    const known = toAppError(error)
    return reply.code(known.status).headers(known.headers).send(known.body)
  })
  await app.withTypeProvider<TypeBoxTypeProvider>().register(contactRoutes({ db }))
  await app.withTypeProvider<TypeBoxTypeProvider>().register(customFieldRoutes({ db }))
  return app
}

function toAppError(error: Error & { statusCode?: number }): AppError {
  if (error instanceof AppError) return error
  if (error.statusCode === 413) return payloadTooLarge(8 * 1024 * 1024)
  if (error.statusCode !== undefined && error.statusCode < 500) return badRequest(error.message)
  console.error(error)
  return internalError()
}

export const caller = (companyId: number, permissions: Caller['permissions'] = ['WhatsApp']): Caller => ({
  companyId,
  clientId: `client${companyId}`,
  keyName: 'test',
  permissions,
  allowedOrigins: [],
  rateLimitPerMinute: 100,
})
