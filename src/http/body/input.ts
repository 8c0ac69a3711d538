import { isUtf8 } from 'node:buffer'
import { MIMEType } from 'node:util'
import { Ajv2019, type AnySchema, type ValidateFunction } from 'ajv/dist/2019.js'
import addFormats from 'ajv-formats'
import type { FastifyContextConfig, FastifyInstance, FastifyRequest, FastifySchemaCompiler } from 'fastify'
import { badRequest, type FieldFault, unsupportedMediaType, validationError } from '../../platform/errors.ts'
import { unknownName } from '../../platform/text/closest-name.ts'
import { isInstant } from '../../platform/text/instant.ts'
import { isRecord, isRounded, mayHaveLongIntegers, memberOf, parseJsonText } from '../../platform/text/json-text.ts'
import { type Faults, MAX_FAULTS, toFaults } from '../errors/fault.ts'
import { mapShapes } from '../shapes.ts'

declare module 'fastify' {
  interface FastifyRequest {
    bodyBytes: Buffer | undefined
  }
  interface FastifyContextConfig {
    /** Legacy addresses have always ignored unknown members and query parameters. */
    ignoresUnknown?: boolean
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

export class InvalidRequest extends Error {
  readonly isBody: boolean
  readonly listFaults: () => Faults

  constructor(isBody: boolean, listFaults: () => Faults) {
    super('The request does not fit its shape')
    this.name = 'InvalidRequest'
    this.isBody = isBody
    this.listFaults = listFaults
  }
}

const SIZE_LIMITS = new Set(['maxItems', 'maxProperties'])

const strict = { body: createAjv(false, false), other: createAjv(false, true) }
const thorough = { body: createAjv(true, false), other: createAjv(true, true) }

export const compileExceptBody: FastifySchemaCompiler<AnySchema> = (part) =>
  part.httpPart === 'body' ? () => true : compileValidator(part)

/**
 * Compiles validators per request part, on first use: compiling all took 0.3 s of the 1.5 s CPU time of a start.
 * Coerces everything but bodies. Only invalid requests are searched for all faults.
 * Outside bodies, `x-lenient` members accept anything; the route must parse them.
 */
export const compileValidator: FastifySchemaCompiler<AnySchema> = ({ schema, httpPart }) => {
  const part = httpPart === 'body' ? 'body' : 'other'
  const shape = httpPart === 'body' ? schema : withoutLenient(schema)
  let check: ValidateFunction | undefined
  let checkAll: ValidateFunction | undefined

  return (data: unknown) => {
    check ??= strict[part].compile(shape)
    if (check(data)) return true
    const first = check.errors ?? []
    return {
      error: new InvalidRequest(httpPart === 'body', () => {
        // An oversized list could have millions of faults.
        if (first.some(({ keyword }) => SIZE_LIMITS.has(keyword))) return { ...toFaults(first), isComplete: false }
        checkAll ??= thorough[part].compile(shape)
        return toFaults(checkAll(data) ? first : (checkAll.errors ?? first))
      }),
    }
  }
}

function createAjv(allErrors: boolean, coerce: boolean): Ajv2019 {
  const ajv = new Ajv2019({
    allErrors,
    coerceTypes: coerce ? 'array' : false,
    useDefaults: true,
    discriminator: true,
    addUsedSchema: false,
    // Tests check the schemas in openapi.json. Compiling the meta-schema takes 40 ms of CPU time per `Ajv2019`.
    validateSchema: false,
    strictTypes: false,
    strictTuples: false,
    // Fault messages need the allowed values.
    verbose: allErrors,
  })
  addFormats.default(ajv)
  ajv.addFormat('date-time', isInstant)
  ajv.addVocabulary(['x-lenient', 'x-as-read', 'example', 'xml', 'externalDocs'])
  return ajv
}

function withoutLenient(schema: AnySchema): AnySchema {
  if (typeof schema !== 'object' || !isRecord(schema.properties)) return schema
  const members = Object.entries(schema.properties).map(([name, shape]) => [
    name,
    isRecord(shape) && shape['x-lenient'] === true ? {} : shape,
  ])
  return { ...schema, properties: Object.fromEntries(members) }
}

const CLOSED: ReadonlySet<string> = new Set(['api-key', 'operator', 'console'])
const NO_PARAMETERS = { type: 'object', properties: {} }

/** Rejects unknown body members and query parameters on routes with schemas registered afterwards. */
export function closeInput(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    if (!isClosed(route.config) || route.schema === undefined) return
    const { body, querystring = NO_PARAMETERS } = route.schema
    route.schema = {
      ...route.schema,
      querystring: closedShape(querystring),
      ...(body !== undefined && { body: closedShape(body) }),
    }
  })
  app.addHook('preValidation', (request, _reply, done) => {
    const { schema, config } = request.routeOptions
    const hasShape = schema === undefined || schema.body !== undefined
    if (request.body === undefined || hasShape || !isClosed(config)) return done()
    refuseMembers(request.body)
    done()
  })
}

export const isClosed = ({ surface = 'api-key', ignoresUnknown = false }: FastifyContextConfig = {}): boolean =>
  CLOSED.has(surface) && !ignoresUnknown

function refuseMembers(body: unknown): void {
  if (!isRecord(body)) throw badRequest('The request takes no body')
  const faults = Object.keys(body).map((path) => ({ path, message: unknownName(path, []) }))
  if (faults.length > 0) throw validationError(faults)
}

export function closedShape(shape: unknown): unknown {
  if (!isRecord(shape)) return shape
  const closed = mapShapes(shape, closedShape)
  return isRecord(shape.properties) && !('additionalProperties' in shape)
    ? { ...closed, additionalProperties: false }
    : closed
}
