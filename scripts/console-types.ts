import { type ApiDocument, type Content, type Operation, parametersOf, reachable } from './client-operations.ts'
import { indented, type Schema, typeDeclarations, typeOf } from './client-types.ts'

const NOTICE = '// Generated from openapi.json by `npm run generate`. Do not edit.\n\n'
const METHODS = ['get', 'put', 'post', 'delete', 'patch'] as const

/** The types of the console: the components of the document, and `paths` in the shape that openapi-fetch reads. */
export function consoleTypes(document: ApiDocument): string {
  const { schemas } = document.components
  const members = Object.entries(document.paths)
    .filter(([path]) => !path.startsWith('/api/') && !path.startsWith('/public/v1/webhooks/whatsapp'))
    .map(([path, methods]) => `  ${JSON.stringify(path)}: ${indented(pathType(document, methods))}`)
  const paths = `export interface paths {\n${members.join('\n')}\n}\n`
  return `${NOTICE}${typeDeclarations(reachable(paths, schemas), schemas)}\n${paths}`
}

function pathType(document: ApiDocument, methods: Record<string, Operation>): string {
  const operations = METHODS.map((method) => {
    const operation = methods[method]
    return `  ${method}${operation ? '' : '?'}: ${operation ? indented(operationType(document, operation)) : 'never'}`
  })
  return `{\n${operations.join('\n')}\n}`
}

function operationType(document: ApiDocument, operation: Operation): string {
  const { schemas } = document.components
  const parameters = parametersOf(document, operation)
  const place = (name: 'path' | 'query') => {
    const ofPlace = parameters.filter((one) => one.in === name)
    if (ofPlace.length === 0) return `${name}?: never`
    const isRequired = ofPlace.some(({ required }) => required === true)
    const schema: Schema = {
      type: 'object',
      properties: Object.fromEntries(ofPlace.map((one) => [one.name, one.schema])),
      required: ofPlace.filter(({ required }) => required === true).map((one) => one.name),
      additionalProperties: false,
    }
    return `${name}${isRequired ? '' : '?'}: ${indented(typeOf(schema, schemas))}`
  }
  const header = `header?: { 'Idempotency-Key'?: string }`
  const lines = [
    `parameters: { ${place('path')}; ${place('query')}; ${header}; cookie?: never }`,
    operation.requestBody
      ? `requestBody: { content: ${contentType(operation.requestBody.content, schemas)} }`
      : 'requestBody?: never',
    `responses: {\n${responses(document, operation)}\n  }`,
  ]
  return `{\n${lines.map((line) => `  ${line}`).join('\n')}\n}`
}

/** The console reads every error in one place, without a type for each. */
function responses({ components }: ApiDocument, operation: Operation): string {
  const successes = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'))
  const lines = successes.map(([status, response]) => {
    const whole =
      '$ref' in response ? components.responses[response.$ref.slice(response.$ref.lastIndexOf('/') + 1)] : response
    return `    ${status}: { content: ${contentType(whole?.content ?? {}, components.schemas)} }`
  })
  return [...lines, `    default: { content: { 'application/json': unknown } }`].join('\n')
}

function contentType(content: Content, schemas: Record<string, Schema>): string {
  const types = Object.entries(content).map(
    ([type, { schema = {} }]) => `${JSON.stringify(type)}: ${indented(typeOf(schema, schemas))}`,
  )
  return types.length === 0 ? '{}' : `{ ${types.join('; ')} }`
}
