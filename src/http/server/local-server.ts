import Fastify, { type FastifyInstance } from 'fastify'
import { notFound } from '../../platform/errors.ts'
import { closeInput, compileValidator, readJsonBodies } from '../body/input.ts'
import { explainError } from '../errors/error-reply.ts'
import { compileSerializer } from './answers/answers.ts'
import { MAX_PARAM_LENGTH } from './server.ts'

/** Fits the largest email template, escaped as JSON. */
const BODY_LIMIT = 16 * 1024 * 1024

/**
 * Builds a server for `inject` calls of its own process. Routes validate and answer as over HTTP, but without admission,
 * rate limits, deadlines and idempotency keys. Errors, unexpected ones too, are answered with the text from `toText`.
 */
export function createLocalServer(toText: (error: unknown) => string): FastifyInstance {
  const app = Fastify({ bodyLimit: BODY_LIMIT, routerOptions: { maxParamLength: MAX_PARAM_LENGTH } })
  app.setValidatorCompiler(compileValidator)
  app.setSerializerCompiler(compileSerializer)
  app.setErrorHandler(async (error, request, reply) =>
    reply
      .code(500)
      .type('text/plain; charset=utf-8')
      .send(toText(await explainError(error, request))),
  )
  app.setNotFoundHandler(() => {
    throw notFound()
  })
  readJsonBodies(app)
  closeInput(app)
  return app
}
