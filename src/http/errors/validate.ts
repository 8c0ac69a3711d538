import { Ajv2019, type AnySchema, type ValidateFunction } from 'ajv/dist/2019.js'
import addFormats from 'ajv-formats'
import type { FastifySchemaCompiler } from 'fastify'
import { isInstant } from '../../platform/text/instant.ts'
import { isRecord } from '../record.ts'
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
 * @@ Outside bodies, `x-lenient` members accept anything; the route parses them.
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
