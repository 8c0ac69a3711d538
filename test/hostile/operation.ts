import { readFile } from 'node:fs/promises'
import { Ajv2020 } from 'ajv/dist/2020.js'
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
type Parameter = { name: string; in: string; $ref?: undefined }
type Ref = { $ref: string }
type Content = Record<string, { schema?: Schema }>
type Response = { content?: Content; $ref?: string }
type Described = {
  parameters?: (Parameter | Ref)[]
  requestBody?: { content?: Content }
  responses?: Record<string, Response>
  security?: Record<string, unknown>[]
}
export type Document = { paths: Record<string, Record<string, Described>> } & Record<string, unknown>

/** One operation of the API, as openapi.json describes it. */
export type Operation = {
  name: string
  method: string
  path: string
  parameters: Parameter[]
  bodies: Content
  credential: 'apiKey' | 'adminToken' | 'none'
}

/** The operations of openapi.json, and whether it describes an answer. */
export type Contract = {
  operations: Operation[]
  resolve(schema: Schema): Schema
  /** Undefined when the document describes the answer; else what differs. */
  faultOf(operation: Operation, status: number, type: string, text: string): string | undefined
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

export async function readContract(file: URL): Promise<Contract> {
  const document: Document = JSON.parse(await readFile(file, 'utf8'))
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  addFormats.default(ajv)
  ajv.addSchema(document, 'document')
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => METHODS.includes(method))
      .map(([method, described]) => toOperation(document, method, path, described)),
  )
  return {
    // A stream does not end.
    operations: operations.filter(({ path }) => path !== '/public/v1/events'),
    resolve: (schema) => (schema.$ref === undefined ? schema : lookUp<Schema>(document, schema.$ref)),
    faultOf: (operation, status, type, text) => faultOf(document, ajv, operation, status, type, text),
  }
}

function toOperation(document: Document, method: string, path: string, described: Described): Operation {
  const names = (described.security ?? [{ apiKey: [] }]).flatMap((one) => Object.keys(one))
  return {
    name: `${method.toUpperCase()} ${path}`,
    method,
    path,
    parameters: (described.parameters ?? []).map((one) =>
      one.$ref === undefined ? one : lookUp<Parameter>(document, one.$ref),
    ),
    bodies: described.requestBody?.content ?? {},
    credential: names.includes('apiKey') ? 'apiKey' : names.includes('adminToken') ? 'adminToken' : 'none',
  }
}

function lookUp<T>(document: Document, ref: string): T {
  const steps = ref
    .slice(2)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  return steps.reduce<never>((value, step) => Object(value)[step] as never, document as never)
}

function faultOf(
  document: Document,
  ajv: Ajv2020,
  { method, path }: Operation,
  status: number,
  type: string,
  text: string,
): string | undefined {
  const responses = document.paths[path]?.[method]?.responses ?? {}
  const declared = responses[String(status)]
  if (declared === undefined) return `status ${status} is not described`
  const response = declared.$ref === undefined ? declared : lookUp<Response>(document, declared.$ref)
  const mime = type.split(';')[0]?.trim() ?? ''
  const content = response.content
  if (content === undefined || mime === '' || text === '') return undefined
  if (!(mime in content || '*/*' in content)) return `status ${status} with content type ${mime} is not described`
  if (mime !== 'application/json' || content[mime]?.schema === undefined) return undefined
  const body = parse(text)
  if (body === undefined) return `status ${status} has a body that is not JSON`
  const base =
    declared.$ref ?? `#/paths/${path.replaceAll('~', '~0').replaceAll('/', '~1')}/${method}/responses/${status}`
  const ref = `document${encodeURI(base).replaceAll('%25', '%')}/content/application~1json/schema`
  const validate = ajv.getSchema(ref) ?? ajv.compile({ $ref: ref })
  if (validate(body)) return undefined
  if (isForBrowsers(ajv, content[mime]?.schema, ref, body)) return undefined
  const [error] = validate.errors ?? []
  return `status ${status} has a body of another shape: ${error?.instancePath ?? ''} ${error?.message ?? ''}`
}

/** Keys for browsers get another shape, which stands beside that of the other keys. */
function isForBrowsers(ajv: Ajv2020, schema: object | undefined, ref: string, body: unknown): boolean {
  const name = 'x-contacts-upsert'
  if (schema === undefined || !(name in schema)) return false
  const validate = ajv.getSchema(`${ref}/${name}`) ?? ajv.compile({ $ref: `${ref}/${name}` })
  return validate(body) === true
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
