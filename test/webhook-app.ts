import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, { type FastifyInstance, type FastifyPluginAsync } from 'fastify'
import { AppError, badRequest, validationError } from '../src/errors.ts'
import type { Caller } from '../src/http/caller.ts'
import type { RequestFault } from '../src/http/fault.ts'

type Fault = RequestFault

/** The least of a server that routes need: a caller named by a header, shapes, and errors mapped as everywhere. */
export async function createWebhookApp(...routes: FastifyPluginAsync[]): Promise<FastifyInstance> {
  const app = Fastify({
    ajv: { customOptions: { allErrors: true, coerceTypes: false, removeAdditional: false, strictTypes: false } },
  }).withTypeProvider<TypeBoxTypeProvider>()
  app.decorateRequest('caller')
  app.addHook('onRequest', async (request) => {
    request.caller = callerOf(Number(request.headers['x-company']))
  })
  app.setErrorHandler((error, request, reply) => {
    const refusal = toRefusal(error, request.routeOptions.config.onInvalid, request.body)
    return reply.code(refusal.status).type('application/json').send(JSON.stringify(refusal.body))
  })
  for (const route of routes) await app.register(route)
  await app.ready()
  return app
}

const callerOf = (companyId: number): Caller => ({
  companyId,
  clientId: 'client',
  keyName: 'key',
  permissions: ['WhatsApp'],
  allowedOrigins: [],
  rateLimitPerMinute: 100,
})

type AjvError = { keyword: string; instancePath: string; message?: string; params: Record<string, unknown> }

function toRefusal(
  error: unknown,
  onInvalid: ((faults: readonly Fault[], body: unknown) => AppError | undefined) | undefined,
  body: unknown,
): AppError {
  if (error instanceof AppError) return error
  if (typeof error !== 'object' || error === null || !('validation' in error)) throw error
  const faults = (error.validation as AjvError[]).map(toFault)
  const own = onInvalid?.(faults, body)
  if (own) return own
  const fields = faults.map(({ path, message }) => ({ path, message }))
  return faults.some(({ kind }) => kind === 'shape')
    ? badRequest('The request is not complete', fields)
    : validationError(fields)
}

function toFault({ keyword, instancePath, message, params }: AjvError): Fault {
  const steps = instancePath.slice(1).split('/').filter(Boolean)
  if (keyword === 'required') steps.push(String(params.missingProperty))
  const path = steps.map((step, place) => (/^\d+$/.test(step) ? `[${step}]` : place === 0 ? step : `.${step}`)).join('')
  const isShape = keyword === 'required' || instancePath === ''
  return { keyword, path: path || 'body', message: message ?? 'is not valid', kind: isShape ? 'shape' : 'value' }
}
