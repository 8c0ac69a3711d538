import { isUtf8 } from 'node:buffer'
import { MIMEType } from 'node:util'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { badRequest, type FieldFault, unsupportedMediaType, validationError } from '../../platform/errors.ts'
import { isRounded, mayHaveLongIntegers, memberOf, parseJsonText } from '../../platform/text/json-text.ts'
import { MAX_FAULTS } from '../errors/fault.ts'

declare module 'fastify' {
  interface FastifyRequest {
    bodyBytes: Buffer | undefined
  }
}

export const MAX_NESTING = 32

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])
const hasByteOrderMark = (bytes: Buffer): boolean => bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)

const TOO_LONG = 'must be an integer within ±9007199254740991: send a longer one as a string, so that its digits stay'

type Checks = { readonly checkText: boolean; readonly checkIntegers?: boolean }

/** Parses JSON bodies (spec: Conventions). Without a body schema, accepts an empty body. */
export function readJsonBodies(app: FastifyInstance): void {
  app.decorateRequest('bodyBytes')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, bytes: Buffer, done) => {
    try {
      requireUtf8Charset(request)
      request.bodyBytes = bytes
      done(null, isAbsent(request, bytes) ? undefined : readJson(bytes))
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)), undefined)
    }
  })
}

const isAbsent = (request: FastifyRequest, bytes: Buffer): boolean =>
  bytes.length === 0 && request.routeOptions.schema?.body === undefined

/**
 * Parses JSON and skips a byte order mark.
 * @throws {AppError} 400 `bad_request` for invalid JSON or UTF-8; 422 `validation_error` with paths for NUL, lone
 * surrogates, numbers a double cannot hold or would round, more than 32 levels
 */
export function readJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw badRequest('The body is not valid UTF-8')
  const text = bytes.toString('utf8', hasByteOrderMark(bytes) ? BYTE_ORDER_MARK.length : 0)
  if (text === '') throw badRequest('The body is empty')
  const value = parse(text)
  // In valid UTF-8, NUL and lone surrogates can only appear as escapes.
  const faults = findUnstorable(value, { checkText: text.includes('\\u'), checkIntegers: mayHaveLongIntegers(text) })
  if (faults.length > 0) throw validationError(faults)
  return value
}

function parse(text: string): unknown {
  try {
    return parseJsonText(text)
  } catch {
    throw badRequest('The body is not valid JSON')
  }
}

type Place = { value: object; level: number; key: string | number; parent: Place | undefined }

/** Finds unstorable values without recursion, so that nesting cannot exhaust the stack. */
export function findUnstorable(root: unknown, { checkText, checkIntegers }: Checks): FieldFault[] {
  const faults: FieldFault[] = []
  const open: Place[] = []

  const fail = (parent: Place | undefined, key: string | number, message: string): void => {
    if (faults.length < MAX_FAULTS) faults.push({ path: pathOf(parent, key), message })
  }
  const visit = (value: unknown, key: string | number, parent: Place | undefined): void => {
    if (typeof value === 'string') {
      if (checkText && !isStorable(value)) fail(parent, key, 'must not contain NUL characters or lone surrogates')
    } else if (typeof value === 'number') {
      if (!Number.isFinite(value)) fail(parent, key, 'must be a number that fits a double')
      else if (checkIntegers && isRounded(value)) fail(parent, key, TOO_LONG)
    } else if (typeof value === 'object' && value !== null) {
      const level = (parent?.level ?? 0) + 1
      if (level > MAX_NESTING) fail(parent, key, `must not be nested deeper than ${MAX_NESTING} levels`)
      else open.push({ value, level, key, parent })
    }
  }

  visit(root, '', undefined)
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    if (Array.isArray(place.value)) {
      for (let index = 0; index < place.value.length; index += 1) visit(place.value[index], index, place)
      continue
    }
    for (const [key, value] of Object.entries(place.value)) {
      if (checkText && !isStorable(key)) fail(place, '', 'must not have names with NUL characters or lone surrogates')
      else visit(value, key, place)
    }
  }
  return faults
}

const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed()

function pathOf(parent: Place | undefined, key: string | number): string {
  const steps = [key]
  for (let place = parent; place !== undefined; place = place.parent) steps.unshift(place.key)
  const path = steps
    .filter((step) => step !== '')
    .map((step, place) => (typeof step === 'number' ? `[${step}]` : place === 0 ? step : `.${step}`))
    .join('')
  return path === '' ? 'body' : path
}

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

export function contentTypesOf({ routeOptions: { schema } }: FastifyRequest): string {
  const consumes = memberOf(schema, 'consumes')
  if (Array.isArray(consumes)) return consumes.map(String).join(', ')
  const content = memberOf(memberOf(schema, 'body'), 'content')
  return typeof content === 'object' && content !== null ? Object.keys(content).join(', ') : 'application/json'
}
