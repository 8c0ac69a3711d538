import type { IncomingMessage } from 'node:http'
import { badRequest, expectationFailed, unsupportedContentEncoding } from '../../platform/errors.ts'

/** Rejects, with a body, what Node would reject without: a missing `Host` (400) and unknown `Expect` (417). */
export function checkProtocol({ headers, httpVersion }: IncomingMessage): void {
  if (headers.host === undefined && httpVersion === '1.1') throw badRequest('The Host header is missing')
  if (headers.expect !== undefined && !/^100-continue$/i.test(headers.expect)) throw expectationFailed()
}

export function checkContentEncoding({ headers }: IncomingMessage): void {
  const encoding = headers['content-encoding']
  if (encoding === undefined || /^(identity)?$/i.test(encoding.trim())) return
  if (hasBody(headers)) throw unsupportedContentEncoding()
}

/** See RFC 9112, 6. */
export const hasBody = (headers: IncomingMessage['headers']): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
