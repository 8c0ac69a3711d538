import { isRecord } from '../record.ts'
import { addExample } from './examples.ts'
import { showForm } from './forms.ts'
import {
  COMMON_COMPONENTS,
  completeOperation,
  type Media,
  type Operation,
  type Response,
  type SharedErrors,
} from './responses.ts'

type Paths = Record<string, Record<string, Operation>>
type ReferenceDocument = {
  paths?: Paths
  webhooks?: Paths
  components?: Record<string, unknown>
  security?: object[]
}
const API_KEY = [{ apiKey: [] }]

type Components = { schemas: Record<string, unknown>; parameters: Record<string, unknown> }

/** Used for validation and generation only; `example` moves to the media types. */
const OWN_KEYWORDS = new Set(['title', 'example', 'x-lenient'])

/** Completes all operations. @throws {Error} if two different schemas share a title */
export function completeDocument(document: ReferenceDocument): ReferenceDocument {
  const components: Components = { schemas: {}, parameters: { ...COMMON_COMPONENTS.parameters } }
  const errors: SharedErrors = new Map()
  for (const [method, operation] of operationsOf(document.paths)) completeOperation(method, operation, errors)
  for (const [, operation] of [...operationsOf(document.paths), ...operationsOf(document.webhooks)]) {
    const isShort = operation.deprecated ?? false
    for (const [type, media] of mediaOf(operation)) completeMedia(type, media, components, isShort)
    // Duplicates the schema description.
    delete operation.requestBody?.description
    if (operation.parameters !== undefined) {
      operation.parameters = operation.parameters.map((one) => ('in' in one ? parameterOf(one, components) : one))
    }
  }
  const responses = Object.fromEntries([...errors.values()].map(({ name, response }) => [name, response]))
  for (const { content = {} } of Object.values(responses)) {
    for (const [type, media] of Object.entries(content)) completeMedia(type, media, components, false)
  }
  shareResponses(operationsOf(document.paths), responses)
  for (const [, operation] of operationsOf(document.paths)) {
    if (JSON.stringify(operation.security) === JSON.stringify(API_KEY)) delete operation.security
  }
  document.security = API_KEY
  document.components = {
    ...document.components,
    headers: COMMON_COMPONENTS.headers,
    parameters: sorted(components.parameters),
    responses: sorted(responses),
    schemas: sorted(components.schemas),
  }
  return document
}

/** Turns success responses shared by several operations into components, named after schema and headers. */
function shareResponses(operations: [string, Operation][], shared: Record<string, Response>): void {
  const places = operations.flatMap(([, { responses = {} }]) =>
    Object.entries(responses).flatMap(([status, response]) =>
      '$ref' in response ? [] : [{ responses, status, response, text: JSON.stringify(response) }],
    ),
  )
  for (const alike of Map.groupBy(places, ({ text }) => text).values()) {
    const [first] = alike
    const name = first && nameOf(first.response)
    if (first === undefined || name === undefined || alike.length < 2 || name in shared) continue
    shared[name] = first.response
    for (const { responses, status } of alike) responses[status] = { $ref: `#/components/responses/${name}` }
  }
}

function nameOf({ content, headers = {} }: Response): string | undefined {
  const schema = content?.['application/json']?.schema
  const ref = isRecord(schema) && typeof schema.$ref === 'string' ? schema.$ref : undefined
  if (ref === undefined) return undefined
  const prefix = 'Idempotent-Replayed' in headers ? 'Idempotent' : ''
  return `${prefix}${ref.slice(ref.lastIndexOf('/') + 1)}`
}

const operationsOf = (paths: Paths = {}): [string, Operation][] =>
  Object.values(paths).flatMap((methods) => Object.entries(methods))

function mediaOf({ requestBody, responses = {} }: Operation): [string, Media][] {
  const contents = Object.values(responses).map((response) => ('content' in response ? response.content : undefined))
  return [requestBody?.content, ...contents].flatMap((content) => Object.entries(content ?? {}))
}

function completeMedia(type: string, media: Media, components: Components, isShort: boolean): void {
  showForm(type, media)
  addExample(media, isShort)
  // Duplicates the response description.
  if (isRecord(media.schema) && media.schema.title === undefined) delete media.schema.description
  media.schema = referTo(media.schema, components)
}

function parameterOf<Given extends { schema?: unknown }>(parameter: Given, components: Components) {
  const { schema } = parameter
  const title = isRecord(schema) ? schema.title : undefined
  const shown = { ...parameter, schema: isRecord(schema) ? withoutOwn(schema, components) : schema }
  if (typeof title !== 'string') return shown
  return { $ref: add(components, 'parameters', title, shown) }
}

function referTo(schema: unknown, components: Components): unknown {
  if (!isRecord(schema)) return schema
  const shown = withoutOwn(schema, components)
  if (typeof schema.title !== 'string') return shown
  return { $ref: add(components, 'schemas', schema.title, shown) }
}

function add(components: Components, kind: keyof Components, name: string, component: unknown): string {
  const existing = components[kind][name]
  if (existing !== undefined && JSON.stringify(existing) !== JSON.stringify(component)) {
    throw new Error(`Two ${kind} of the reference have the title ${name}`)
  }
  components[kind][name] = component
  return `#/components/${kind}/${name}`
}

function withoutOwn(schema: Record<string, unknown>, components: Components): Record<string, unknown> {
  const shared = Object.entries(schema).filter(([keyword]) => !OWN_KEYWORDS.has(keyword))
  const shown = Object.fromEntries(shared.map(([keyword, value]) => [keyword, inside(keyword, value, components)]))
  return isRecord(schema.discriminator) ? { ...shown, discriminator: withMapping(schema, schema.discriminator) } : shown
}

function inside(keyword: string, value: unknown, components: Components): unknown {
  const isNamed = keyword === 'properties' || keyword === 'patternProperties'
  if (isNamed && isRecord(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, shape]) => [name, referTo(shape, components)]))
  }
  if (['anyOf', 'oneOf', 'allOf'].includes(keyword) && Array.isArray(value)) {
    return value.map((shape) => referTo(shape, components))
  }
  return ['items', 'additionalProperties'].includes(keyword) ? referTo(value, components) : value
}

function withMapping({ oneOf }: Record<string, unknown>, { propertyName }: Record<string, unknown>): object {
  const choices = Array.isArray(oneOf) ? oneOf.filter(isRecord) : []
  const mapping = choices.flatMap(({ title, properties }) => {
    const member = isRecord(properties) ? properties[String(propertyName)] : undefined
    const values = isRecord(member) ? (Array.isArray(member.enum) ? member.enum : [member.const]) : []
    return values.map((value) => [String(value), `#/components/schemas/${title}`])
  })
  return { propertyName, mapping: Object.fromEntries(mapping) }
}

const sorted = (components: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(components).sort(([one], [other]) => one.localeCompare(other, 'en')))
