import { MIMEType } from 'node:util'
import type { FastifyRequest } from 'fastify'
import { unsupportedMediaType } from '../../platform/errors.ts'
import { contentTypesOf } from './content-types.ts'

const UTF8 = /^utf-?8$/i

/** @throws {AppError} 415 for charsets other than UTF-8 */
export function requireUtf8Charset(request: FastifyRequest): void {
  const type = request.headers['content-type'] ?? ''
  if (!type.includes(';')) return
  const charset = charsetOf(type)
  if (charset === null || UTF8.test(charset)) return
  throw unsupportedMediaType(
    `Texts are read as UTF-8 only, not as ${charset.slice(0, 40)}: the Content-Type may be ${contentTypesOf(request)}`,
  )
}

export function charsetOf(type: string): string | null {
  try {
    return new MIMEType(type).params.get('charset')
  } catch {
    return null
  }
}
