import { gunzipSync } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { addAnswerFault } from './answer-faults.ts'
import { type Contract, readContract } from './contract.ts'

let contract: Contract | undefined

/**
 * Compares every answer of the service with openapi.json; the setup file of the tests fails the test in which one differs.
 * Called before the service listens: hooks of routes are complete then.
 */
export function compareAnswers(app: FastifyInstance): void {
  app.addHook('onSend', async (request, reply, payload) => {
    const { url = '', schema } = request.routeOptions
    const method = request.method.toLowerCase()
    // HEAD, pages, the addresses of the console itself, and routes that a test made up.
    if (operationIdOf(schema) === undefined || method === 'head') return payload
    // Refusals of a session have the shape of the console, which openapi.json does not describe.
    if (request.originalUrl.startsWith('/console/') && reply.statusCode >= 400) return payload
    contract ??= readContract()
    const path = url.replaceAll(/:(\w+)/g, '{$1}')
    const answer = {
      status: reply.statusCode,
      type: String(reply.getHeader('content-type') ?? ''),
      text: textOf(reply.getHeader('content-encoding') === 'gzip' ? gunzipSync(payload as Buffer) : payload),
    }
    const fault = contract.faultOf(method, path, answer)
    if (fault !== undefined) addAnswerFault(`${request.method} ${request.originalUrl}: ${fault}`)
    return payload
  })
}

const operationIdOf = (schema: object | undefined): unknown =>
  schema !== undefined && 'operationId' in schema ? schema.operationId : undefined

/** A stream has no text here. */
function textOf(payload: unknown): string | undefined {
  if (payload === undefined || payload === null) return ''
  return typeof payload === 'string' || Buffer.isBuffer(payload) ? String(payload) : undefined
}
