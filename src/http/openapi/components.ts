import { isRecord } from '../../platform/text/json-text.ts'
import { mapShapes } from '../shapes.ts'
import {
  type ErrorKind,
  EXAMPLES,
  errorName,
  errorResponse,
  headerComponent,
  type Media,
  type Ref,
  type Response,
  referToHeaders,
} from './errors.ts'

type Parameter = { name: string; in: string; schema?: unknown }
type Operation = {
  operationId?: string
  parameters?: (Parameter | Ref)[]
  requestBody?: { description?: string; content: Record<string, Media> }
  responses?: Record<string, Response | Ref>
  deprecated?: boolean
  'x-errors'?: ErrorKind[]
}
type Shape = Record<string, unknown>
type Paths = Record<string, Record<string, Operation>>
type ReferenceDocument = { paths?: Paths; webhooks?: Paths; components?: Record<string, unknown> }
type Components = { schemas: Record<string, unknown>; parameters: Record<string, unknown> }

const integer = { type: 'integer', minimum: 0 }
const HEADERS = {
  'X-Request-Id': {
    description: 'Request id, also in the service log. Present on every answer.',
    schema: { type: 'string' },
  },
  'X-Error-Code': {
    description: 'Error code, present on every error, even without a body.',
    schema: { type: 'string' },
  },
  'X-RateLimit-Limit': {
    description:
      'Requests allowed per 60-second window. The three X-RateLimit headers are present on every answer to an API key.',
    schema: integer,
  },
  'X-RateLimit-Remaining': { description: 'Requests left in the window.', schema: integer },
  'X-RateLimit-Reset': { description: 'End of the window, in epoch seconds.', schema: integer },
  'Retry-After': { description: 'Seconds to wait before retrying.', schema: integer },
  'Idempotent-Replayed': {
    description: 'Present if this is the stored answer to an earlier request with the same Idempotency-Key.',
    schema: { type: 'string', enum: ['true'] },
  },
  'WWW-Authenticate': { description: 'Credential scheme.', schema: { type: 'string', enum: ['Bearer'] } },
}
const HEADER_COMPONENTS = Object.fromEntries(Object.entries(HEADERS).map(([name, one]) => [headerComponent(name), one]))

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'A string of your choice, such as a UUID. A repeated request with the same key takes effect once, and returns the first answer for 48 hours.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
}

/** Completes all operations. @throws {Error} if two different schemas share a title */
export function completeDocument(document: ReferenceDocument): ReferenceDocument {
  const errors: SharedErrors = new Map()
  const operations = operationsOf(document.paths)
  for (const [method, operation] of operations) addErrors(method, operation, errors)
  const responses = Object.fromEntries([...errors.values()].map(({ name, response }) => [name, response]))
  const components: Components = { schemas: {}, parameters: { IdempotencyKey: IDEMPOTENCY_KEY } }
  for (const [, operation] of [...operations, ...operationsOf(document.webhooks)]) nameShapes(operation, components)
  nameShapes({ responses }, components)
  shareResponses(operations, responses)
  document.components = {
    ...document.components,
    headers: HEADER_COMPONENTS,
    parameters: sorted(components.parameters),
    responses: sorted(responses),
    schemas: sorted(components.schemas),
  }
  return document
}

const sorted = (components: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(components).sort(([one], [other]) => one.localeCompare(other, 'en')))

const operationsOf = (paths: Paths = {}): [string, Operation][] =>
  Object.values(paths).flatMap((methods) => Object.entries(methods))

/** With more kinds, a response is named after the first operation using it. */
const MOST_KINDS_NAMED = 3

/** Error responses by the names of their kinds. */
type SharedErrors = Map<string, { name: string; response: Response }>

/** Adds the error responses of an operation, and the parameter of a POST that takes an `Idempotency-Key`. */
function addErrors(method: string, operation: Operation, shared: SharedErrors): void {
  const { 'x-errors': kinds = [], operationId = '', parameters = [], responses = {} } = operation
  delete operation['x-errors']
  if (method === 'post' && kinds.includes('idempotency_key_in_use')) {
    operation.parameters = [...parameters, { $ref: '#/components/parameters/IdempotencyKey' }]
    for (const response of Object.values(responses)) {
      if (!('$ref' in response)) response.headers = { ...referToHeaders(['Idempotent-Replayed']), ...response.headers }
    }
  }
  operation.responses = { ...responses }
  for (const [status, ofStatus] of Map.groupBy(kinds, (kind) => EXAMPLES[kind].status)) {
    const kindNames = ofStatus.map(errorName).sort().join('Or')
    const ownName = ofStatus.length > MOST_KINDS_NAMED ? `${operationId}${status}` : kindNames
    const { name } = shared.get(kindNames) ?? { name: ownName }
    shared.set(kindNames, { name, response: errorResponse(status, ofStatus) })
    operation.responses[status] = { $ref: `#/components/responses/${name}` }
  }
}

const FORM_TYPES = new Set(['multipart/form-data', 'application/x-www-form-urlencoded'])

function nameShapes(operation: Operation, components: Components): void {
  const { requestBody, responses = {}, parameters, deprecated = false } = operation
  const contents = Object.values(responses).map((response) => ('content' in response ? response.content : undefined))
  for (const content of [requestBody?.content, ...contents]) {
    for (const [type, media] of Object.entries(content ?? {})) nameMedia(type, media, components, deprecated)
  }
  // Duplicates the schema description.
  delete requestBody?.description
  if (parameters === undefined) return
  operation.parameters = parameters.map((one) => {
    if ('$ref' in one || !isRecord(one.schema)) return one
    const parameter = { ...one, schema: shown(one.schema, components) }
    return refer('parameters', one.schema.title, parameter, components)
  })
}

function nameMedia(type: string, media: Media, components: Components, isShort: boolean): void {
  if (!isRecord(media.schema)) return
  const schema = FORM_TYPES.has(type) ? formOf(media.schema) : media.schema
  media.schema = schema
  addExample(media, isShort)
  // Duplicates the response description.
  if (schema.title === undefined) delete schema.description
  media.schema = named(schema, components)
}

const named = (shape: unknown, components: Components): unknown =>
  isRecord(shape) ? refer('schemas', shape.title, shown(shape, components), components) : shape

/** Without keywords that are only for validation and generation; `example` moves to the media types. */
function shown(shape: Shape, components: Components): Shape {
  const { title: _title, example: _example, 'x-lenient': _lenient, ...rest } = shape
  const within = mapShapes(rest, (inner) => named(inner, components))
  return isRecord(shape.discriminator) ? { ...within, discriminator: withMapping(shape, shape.discriminator) } : within
}

function refer<Shown>(kind: keyof Components, title: unknown, component: Shown, components: Components) {
  if (typeof title !== 'string') return component
  const existing = components[kind][title]
  if (existing !== undefined && JSON.stringify(existing) !== JSON.stringify(component)) {
    throw new Error(`Two ${kind} of the reference have the title ${title}`)
  }
  components[kind][title] = component
  return { $ref: `#/components/${kind}/${title}` }
}

function withMapping({ oneOf }: Shape, { propertyName }: Shape): Shape {
  const mapping = [oneOf].flat().flatMap((choice) => {
    const { title, properties }: Shape = Object(choice)
    const { enum: values }: Shape = Object(Object(properties)[String(propertyName)])
    return [values].flat().map((value) => [value, `#/components/schemas/${title}`])
  })
  return { propertyName, mapping: Object.fromEntries(mapping) }
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
  const { $ref }: Shape = Object(content?.['application/json']?.schema)
  if (typeof $ref !== 'string') return undefined
  return `${'Idempotent-Replayed' in headers ? 'Idempotent' : ''}${$ref.slice($ref.lastIndexOf('/') + 1)}`
}

/** Adds the example of a body; a deprecated operation shows only the first of several. */
function addExample(media: Media, isShort: boolean): void {
  const { schema } = media
  if ('example' in media || media.examples !== undefined || !isRecord(schema)) return
  const named = choicesOf(schema).flatMap(({ title, example }) =>
    typeof title === 'string' && example !== undefined ? [[title, { value: example }]] : [],
  )
  const example = exampleOf(schema)
  if (named.length > 1 && !isShort) media.examples = Object.fromEntries(named)
  else if (example !== undefined) media.example = example
}

const choicesOf = ({ oneOf, anyOf }: Shape): Shape[] => [oneOf, anyOf].flat().filter(isRecord)

function exampleOf(schema: unknown): unknown {
  if (!isRecord(schema)) return undefined
  if ('example' in schema) return schema.example
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[0]
  const [choice] = choicesOf(schema)
  if (choice !== undefined) return exampleOf(choice)
  const members = Object.entries(isRecord(schema.properties) ? schema.properties : {})
    .map(([name, member]) => [name, exampleOf(member)])
    .filter(([, value]) => value !== undefined)
  if (members.length > 0) return Object.fromEntries(members)
  const item = exampleOf(schema.items)
  return item === undefined ? undefined : [item]
}

/** Returns a form's JSON schema as a flat object, with fields such as `customFields.CITY`. */
function formOf(schema: Shape): Shape {
  const [shape = schema] = choicesOf(schema)
  const members = Object.entries(isRecord(shape.properties) ? shape.properties : {})
  const open = members.filter(([, member]) => isRecord(member) && member.type === 'object' && !member.properties)
  const closed = members
    .filter((one) => !open.includes(one))
    .map(([name, member]) => [name, undescribed(member)] as const)
  return {
    ...shape,
    title: `${shape.title}Form`,
    description: 'Members mean the same as in JSON.',
    properties: flatten(closed, (member) => member.properties),
    ...(open.length > 0 && {
      patternProperties: Object.fromEntries(open.map(([name]) => [`^${name}\\.`, { type: 'string' }])),
    }),
    ...(isRecord(shape.example) && { example: flatten(Object.entries(shape.example), (value) => value) }),
  }
}

function undescribed(member: unknown): unknown {
  if (!isRecord(member)) return member
  const { description: _, ...rest } = member
  return mapShapes(rest, undescribed)
}

const flatten = (members: (readonly [string, unknown])[], innerOf: (member: Shape) => unknown): Shape =>
  Object.fromEntries(
    members.flatMap(([name, member]) => {
      const inner = isRecord(member) ? innerOf(member) : undefined
      return isRecord(inner) ? Object.entries(inner).map(([one, value]) => [`${name}.${one}`, value]) : [[name, member]]
    }),
  )
