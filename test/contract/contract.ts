import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

/** A JSON Schema as far as sample bodies are made from it. */
export type Schema = {
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  properties?: Record<string, Schema>
  items?: Schema
  required?: string[]
  format?: string
  pattern?: string
  minLength?: number
  minimum?: number
  $ref?: string
}
export type Parameter = { name: string; in: string; $ref?: undefined }
export type Content = Record<string, { schema?: Schema }>
type Ref = { $ref: string }
type Response = { content?: Content; $ref?: undefined }
export type Described = {
  parameters?: (Parameter | Ref)[]
  requestBody?: { content?: Content }
  responses?: Record<string, Response | Ref>
  security?: Record<string, unknown>[]
  'x-permissions'?: string[]
}

/** An answer, as far as openapi.json describes it; without a text only its status and type are compared. */
export type DescribedAnswer = { status: number; type: string; text?: string | undefined }

/** Statuses whose answers have no body, whatever the handler returns. */
const BODILESS = [204, 304]

/** openapi.json, and whether it describes an answer. */
export type Contract = {
  paths: Record<string, Record<string, Described>>
  lookUp<T>(ref: string): T
  /** Undefined when the document describes the answer of the operation; else what differs. */
  faultOf(method: string, path: string, answer: DescribedAnswer): string | undefined
}

/** Reads openapi.json. Each shape is compiled when an answer has it for the first time. */
export function readContract(file: URL = new URL('../../openapi.json', import.meta.url)): Contract {
  const document: Pick<Contract, 'paths'> = JSON.parse(readFileSync(file, 'utf8'))
  // test/contract/openapi-lint.test.ts checks the document itself.
  const ajv = new Ajv2020({ strict: false, validateSchema: false })
  addFormats.default(ajv)
  ajv.addSchema(document, 'document')
  const compiled = new Map<string, ValidateFunction>()
  const compile = (pointer: string): ValidateFunction => {
    const validate = compiled.get(pointer) ?? ajv.compile({ $ref: pointer })
    compiled.set(pointer, validate)
    return validate
  }
  const lookUp = <T>(ref: string): T => valueAt(document, ref)

  return {
    paths: document.paths,
    lookUp,
    faultOf: (method, path, { status, type, text }) => {
      const declared = document.paths[path]?.[method]?.responses?.[String(status)]
      if (declared === undefined) return `status ${status} is not described`
      const { content = {} } = declared.$ref === undefined ? declared : lookUp<Response>(declared.$ref)
      const mime = type.split(';')[0]?.trim() ?? ''
      if (mime === '' || text === '' || BODILESS.includes(status)) return undefined
      if (!(mime in content || '*/*' in content)) return `status ${status} with content type ${mime} is not described`
      if (mime !== 'application/json' || content[mime]?.schema === undefined || text === undefined) return undefined
      const body = parse(text)
      if (body === undefined) return `status ${status} has a body that is not JSON`
      const at = declared.$ref ?? pointerTo('paths', path, method, 'responses', String(status))
      const validate = compile(`document${at}/${pointerTo('content', mime, 'schema').slice(2)}`)
      if (validate(body)) return undefined
      return `status ${status} has a body of another shape: ${ajv.errorsText(validate.errors?.slice(0, 3))}`
    },
  }
}

const pointerTo = (...steps: string[]): string =>
  `#/${steps.map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`

function valueAt(document: object, ref: string): never {
  const steps = ref
    .slice(2)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  return steps.reduce<never>((value, step) => Object(value)[step] as never, document as never)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
