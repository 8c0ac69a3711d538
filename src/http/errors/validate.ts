import { Ajv2019, type AnySchema, type ValidateFunction } from 'ajv/dist/2019.js'
import addFormats from 'ajv-formats'
import type { FastifySchemaCompiler } from 'fastify'
import { isInstant } from '../../platform/text/instant.ts'
import { isRecord } from '../record.ts'
import { type Faults, toFaults } from './fault.ts'

/** A request that does not fit its route's shape. `listFaults` looks for all faults, which costs more than finding one. */
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

/** For routes whose handler reads the body itself: validates all other parts of a request. */
export const compileExceptBody: FastifySchemaCompiler<AnySchema> = (part) =>
  part.httpPart === 'body' ? () => true : compileValidator(part)

/**
 * Validates each part of a request by its shape: bodies are never coerced, all else is. A valid request pays for one
 * pass that stops at the first fault; only an invalid one is looked through for all of them. A shape is compiled by its
 * first request: compiling all of them took 0.3 s of the 1.5 s of processor time of a start.
 *
 * Outside of bodies, members marked `x-lenient` admit anything: the route reads what they hold.
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
        // A list that is too long is not looked through: its faults could be millions.
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
    // The tests check the shapes in openapi.json. Compiling the schema of schemas takes 40 ms of processor time for each `Ajv2019`.
    validateSchema: false,
    strictTypes: false,
    strictTuples: false,
    // The reports name what a rule would have allowed.
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
