import type { IncomingMessage } from 'node:http'
import { badRequest, expectationFailed, unsupportedContentEncoding } from '../../platform/errors.ts'

/**
 * Refuses what the HTTP server would refuse by itself with an empty body: HTTP/1.1 without `Host` (400) and an `Expect`
 * other than `100-continue` (417).
 */
export function checkProtocol({ headers, httpVersion }: IncomingMessage): void {
  if (headers.host === undefined && httpVersion === '1.1') throw badRequest('The Host header is missing')
  if (headers.expect !== undefined && !/^100-continue$/i.test(headers.expect)) throw expectationFailed()
}

/** Bodies are read as they come: 415 for one that is compressed. */
export function checkContentEncoding({ headers }: IncomingMessage): void {
  const encoding = headers['content-encoding']
  if (encoding === undefined || /^(identity)?$/i.test(encoding.trim())) return
  if (hasBody(headers)) throw unsupportedContentEncoding()
}

/** Whether a body follows the head (RFC 9112, 6). */
export const hasBody = (headers: IncomingMessage['headers']): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
