import { Ajv2019, type AnySchema, type ValidateFunction } from 'ajv/dist/2019.js'
import addFormats from 'ajv-formats'
import type { FastifyContextConfig, FastifyInstance, FastifySchemaCompiler } from 'fastify'
import { badRequest, validationError } from '../../platform/errors.ts'
import { unknownName } from '../../platform/text/closest-name.ts'
import { isInstant } from '../../platform/text/instant.ts'
import { isRecord } from '../../platform/text/json-text.ts'
import { mapShapes } from '../shapes.ts'
import { type Faults, toFaults } from './fault.ts'

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

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Legacy addresses have always ignored unknown members and query parameters. */
    ignoresUnknown?: boolean
  }
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
