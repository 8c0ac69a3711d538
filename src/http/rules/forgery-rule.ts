import type { FastifyRequest } from 'fastify'
import { forbidden } from '../../platform/errors.ts'
import { hasBody } from '../server/request-head.ts'
import { isHostOf } from './host-rule.ts'

const READING = new Set(['GET', 'HEAD'])
/** Types no HTML form can send. */
const BODY_TYPES = new Set(['application/json', 'text/csv', 'application/x-ndjson', 'application/octet-stream'])

/**
 * Rejects cross-site requests with a visitor's session (docs/security.md, Console): the host must be that of BASE_URL,
 * the page the console; writes must prove it by `Origin` and a content type no form can send.
 * @throws {AppError} 403 with the violated rule
 */
export function createForgeryRule(baseUrl: string): (request: FastifyRequest, host: string) => void {
  const own = new URL(baseUrl)
  return ({ method, headers, raw }, host) => {
    if (headers['sec-fetch-site'] !== 'same-origin') throw refused('Sec-Fetch-Site must be same-origin')
    if (!isHostOf(own, host)) throw refused(`the host must be ${own.host}`)
    if (READING.has(method)) return
    if (headers.origin !== own.origin) throw refused(`Origin must be ${own.origin}`)
    const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
    if (type === undefined ? hasBody(raw.headers) : !BODY_TYPES.has(type)) {
      throw refused(`the Content-Type must be one of ${[...BODY_TYPES].join(', ')}`)
    }
  }
}

const refused = (rule: string) => forbidden(`Only pages of the console may use its API: ${rule}`)
