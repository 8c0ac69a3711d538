import { comment, indented, type Schema, type Schemas, typeDeclarations, typeName, typeOf } from './client-types.ts'

type Webhook = {
  post: { requestBody: { content: { 'application/json': { schema: { $ref: string } } } }; 'x-label': string }
}

type Parameter = { name: string; in: string; required?: boolean; description?: string; schema: Schema }
type Ref = { $ref: string }
export type Content = Record<string, { schema?: Schema }>
export type Operation = {
  operationId: string
  summary: string
  description?: string
  deprecated?: boolean
  parameters?: (Parameter | Ref)[]
  requestBody?: { content: Content }
  responses: Record<string, { content?: Content } | Ref>
}
export type ApiDocument = {
  webhooks: Record<string, Webhook>
  paths: Record<string, Record<string, Operation>>
  components: {
    schemas: Schemas
    parameters: Record<string, Parameter>
    responses: Record<string, { content?: Content }>
  }
}

const NOTICE = '// Generated from openapi.json by `npm run generate`. Do not edit.\n\n'

/** The generated sources of the client: the shapes of the company API, and a method for each of its operations. */
export function clientSources(document: ApiDocument): { schemas: string; operations: string } {
  const methods = companyOperations(document).map(([method, path, operation]) =>
    methodOf(document, method, path, operation),
  )
  const body = `export abstract class Operations {
  protected abstract call<Answer>(request: ApiRequest, options?: RequestOptions): Promise<Answer>
  protected abstract open(request: ApiRequest, options?: RequestOptions): Promise<Response>

${methods.join('\n')}}
`
  const { schemas } = document.components
  const code = body.replace(/\/\*\*.*?\*\//gs, '')
  const events = Object.values(document.webhooks).map(eventShapeOf)
  const names = reachable(`${code} Error ${events.join(' ')}`, schemas)
  const imported = names.map(typeName).filter((name) => new RegExp(`\\b${name}\\b`).test(code))
  const imports = [
    `import type { ApiRequest, RequestOptions, TextBody } from '../request.ts'`,
    `import type {\n${imported.map((name) => `  ${name},\n`).join('')}} from './schemas.ts'`,
  ]
  return {
    schemas: `${NOTICE}${typeDeclarations(names, schemas)}\n${unionOf(events.map(typeName))}`,
    operations: `${NOTICE}${imports.join('\n')}\n\n/** One method for each operation of the API, named after its operationId. */\n${body}`,
  }
}

const eventShapeOf = ({ post }: Webhook): string =>
  post.requestBody.content['application/json'].schema.$ref.replace('#/components/schemas/', '')

const unionOf = (names: readonly string[]): string =>
  `/** The body of a delivery; \`event\` says which it is. */\nexport type WebhookEvent =\n${names.map((name) => `  | ${name}\n`).join('')}`

/** Operations that are called with an API key, or with the token of a media address. */
function companyOperations({ paths }: ApiDocument): [string, string, Operation][] {
  return Object.entries(paths)
    .filter(([path]) => !path.startsWith('/admin/') && !path.startsWith('/public/v1/webhooks/whatsapp'))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]): [string, string, Operation] => [
        method.toUpperCase(),
        path,
        operation,
      ]),
    )
}

function methodOf(document: ApiDocument, method: string, path: string, operation: Operation): string {
  const { schemas } = document.components
  const parameters = parametersOf(document, operation)
  const body = bodyOf(operation, schemas)
  const answer = answerOf(document, operation)
  const isOptional = !parameters.some(({ required }) => required)
  const params =
    parameters.length > 0 ? `params${isOptional ? '?' : ''}: ${paramsType(parameters, schemas)}` : undefined
  const bodySource = body && `body: ${body.type}`
  // Optional parameters come last.
  const sources = [...(isOptional ? [bodySource, params] : [params, bodySource]), 'options?: RequestOptions']
  const request = [
    `method: '${method}'`,
    `path: '${path}'`,
    parameters.length > 0 ? 'params' : undefined,
    body && `${body.member}: body`,
  ]
  const call = `{ ${request.filter((one) => one !== undefined).join(', ')} }, options`
  const result = answer === undefined ? 'Response' : indented(answer)
  const parametersText = sources.filter((one) => one !== undefined).join(', ')
  const other = answerWithMember(document, operation)
  const overloads = other && overloadsOf(operation, parametersText, result, other)
  const implemented = other === undefined ? result : `${result} | ${other.type}`
  return `${overloads ?? documentation(operation)}  ${operation.operationId}(${parametersText}): Promise<${implemented}> {
    return this.${answer === undefined ? 'open' : 'call'}(${call})
  }
`
}

type MemberAnswer = { member: string; type: string }

/** The answer to bodies with a certain member, which the shape of another success names as `x-body-member`. */
function answerWithMember(document: ApiDocument, operation: Operation): MemberAnswer | undefined {
  for (const { $ref = '' } of successesOf(document, operation)) {
    const name = $ref.slice($ref.lastIndexOf('/') + 1)
    const member = document.components.schemas[name]?.['x-body-member']
    if (member !== undefined) return { member, type: typeName(name) }
  }
  return undefined
}

function overloadsOf(operation: Operation, parameters: string, result: string, { member, type }: MemberAnswer): string {
  const { operationId } = operation
  const withMember = parameters.replace(/body: (\w+)/, `body: $1 & { ${member}: string }`)
  return `${documentation(operation)}  ${operationId}(${withMember}): Promise<${type}>
  ${operationId}(${parameters}): Promise<${result}>
`
}

function documentation({ summary, description, deprecated }: Operation): string {
  const text = [`${summary}.`, description].filter((one) => one !== undefined).join(' ')
  return comment(`${text}${deprecated ? ' @deprecated' : ''}`, '  ')
}

/** The parameters of an operation in its path and query. */
export function parametersOf({ components }: ApiDocument, { parameters = [] }: Operation): Parameter[] {
  return parameters
    .map((one) => ('$ref' in one ? components.parameters[one.$ref.slice(one.$ref.lastIndexOf('/') + 1)] : one))
    .filter((one) => one !== undefined)
    .filter((one) => one.in === 'path' || one.in === 'query')
}

function paramsType(parameters: Parameter[], schemas: Schemas): string {
  const required = parameters.filter((one) => one.required === true).map(({ name }) => name)
  const properties = parameters.map(({ name, description, schema }) => [
    name,
    { ...schema, ...(description !== undefined && { description }) },
  ])
  const type = typeOf(
    { type: 'object', properties: Object.fromEntries(properties), required, additionalProperties: false },
    schemas,
  )
  return indented(type)
}

function bodyOf({ requestBody }: Operation, schemas: Schemas): { member: 'json' | 'text'; type: string } | undefined {
  if (requestBody === undefined) return undefined
  const json = requestBody.content['application/json']?.schema
  if (json !== undefined) return { member: 'json', type: typeOf(json, schemas) }
  const types = Object.keys(requestBody.content).map((type) => JSON.stringify(type))
  return { member: 'text', type: `TextBody<${types.join(' | ')}>` }
}

/** The type of the JSON that the first success answers; undefined when it answers something else. */
function answerOf(document: ApiDocument, operation: Operation): string | undefined {
  const { schemas } = document.components
  const [schema] = successesOf(document, operation)
  return schema && typeOf(forServers(schema, schemas), schemas)
}

/** The shapes of the JSON that the successes of an operation answer. */
function successesOf({ components }: ApiDocument, { operationId, responses }: Operation): Schema[] {
  const successes = Object.entries(responses).filter(([status]) => status.startsWith('2'))
  if (successes.length === 0) throw new Error(`The operation ${operationId} has no success`)
  return successes.flatMap(([, success]) => {
    const { content = {} } =
      '$ref' in success ? (components.responses[success.$ref.slice(success.$ref.lastIndexOf('/') + 1)] ?? {}) : success
    return content['application/json']?.schema ?? []
  })
}

/** Of an answer with a shape of its own for keys that hold certain permissions alone, the shape that all other keys get. */
function forServers(schema: Schema, schemas: Schemas): Schema {
  const [first, ...others] = (schema.anyOf ?? []).filter(
    ({ $ref = '' }) => schemas[$ref.slice($ref.lastIndexOf('/') + 1)]?.['x-permissions'] === undefined,
  )
  return first !== undefined && others.length === 0 ? first : schema
}

/** The components that a text names, and those that these refer to, in alphabetical order. */
export function reachable(text: string, schemas: Schemas): string[] {
  const found = new Set<string>()
  const visit = (names: string[]) => {
    for (const name of names) {
      if (found.has(name)) continue
      found.add(name)
      visit(namesIn(JSON.stringify(schemas[name]), /"#\/components\/schemas\/(\w+)"/g))
    }
  }
  visit(namesIn(text, /\b([A-Z]\w+)\b/g).filter((name) => name in schemas))
  return [...found].sort()
}

const namesIn = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, name = '']) => name)
