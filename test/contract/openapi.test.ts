import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect, test } from 'vitest'
import { ERROR_STATUSES } from '../../src/platform/errors.ts'

type Schema = { $ref?: string; [keyword: string]: unknown }
type Media = { schema?: Schema; example?: unknown; examples?: Record<string, { value: unknown }> }
type Response = { $ref?: string; description?: string; content?: Record<string, Media> }
type Operation = {
  operationId?: string
  summary?: string
  description?: string
  tags?: string[]
  security?: Record<string, string[]>[]
  'x-permissions'?: string[]
  parameters?: { $ref?: string; name?: string; schema?: Schema }[]
  requestBody?: { content: Record<string, Media> }
  responses: Record<string, Response>
}
const file = new URL('../../openapi.json', import.meta.url)
const document: {
  paths: Record<string, Record<string, Operation>>
  webhooks: Record<string, Record<string, Operation>>
  security: Record<string, string[]>[]
  tags: { name: string }[]
  components: Record<'schemas' | 'parameters' | 'headers', Record<string, Schema>> & {
    responses: Record<string, Response>
  }
} = JSON.parse(readFileSync(file, 'utf8'))
const named = (paths: Record<string, Record<string, Operation>>) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      security: document.security,
      ...operation,
      name: `${method.toUpperCase()} ${path}`,
    })),
  )
const operations = named(document.paths)
const operationOf = (id: string) => operations.find(({ operationId }) => operationId === id)!

const pointerTo = (...steps: string[]) =>
  `document#/${steps.map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`

/** Every body and answer, with the address of its shape. */
const contents = [
  ...Object.entries(document.components.responses).flatMap(([name, { content = {} }]) =>
    Object.entries(content).map(([type, media]) => ({
      place: `${name} ${type}`,
      media,
      pointer: pointerTo('components', 'responses', name, 'content', type, 'schema'),
    })),
  ),
  ...(['paths', 'webhooks'] as const).flatMap((kind) =>
    Object.entries(document[kind]).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { requestBody, responses }]) => [
        ...Object.entries(requestBody?.content ?? {}).map(([type, media]) => ({
          place: `${method} ${path} ${type}`,
          media,
          pointer: pointerTo(kind, path, method, 'requestBody', 'content', type, 'schema'),
        })),
        ...Object.entries(responses).flatMap(([status, { content = {} }]) =>
          Object.entries(content).map(([type, media]) => ({
            place: `${method} ${path} ${status} ${type}`,
            media,
            pointer: pointerTo(kind, path, method, 'responses', status, 'content', type, 'schema'),
          })),
        ),
      ]),
    ),
  ),
]

test('every operation has an operationId of its own', () => {
  expect(operations.length).toBeGreaterThan(60)
  expect(operations.filter(({ operationId }) => !operationId).map(({ name }) => name)).toEqual([])
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length)
})

test('every tag that an operation has is declared once', () => {
  const declared = document.tags.map(({ name }) => name)
  const used = operations.flatMap(({ tags = [] }) => tags)
  expect(used.filter((tag) => !declared.includes(tag))).toEqual([])
  expect(new Set(declared).size).toBe(declared.length)
})

test('every operation describes its answers under overload and beyond the limits of a client', () => {
  const incomplete = operations.filter(({ responses }) => !('503' in responses && '429' in responses))
  expect(incomplete.map(({ name }) => name)).toEqual([])
})

test('every operation describes its answer under a host name that does not serve it', () => {
  const codesOf = ({ responses }: Operation) => {
    const name = responses['404']?.$ref?.split('/').at(-1) ?? ''
    return JSON.stringify(document.components.responses[name]?.content?.['application/json']?.schema ?? {})
  }
  const silent = operations.filter(({ name, ...operation }) => {
    const isAddressed =
      !/ \/(healthz|readyz|metrics)$/.test(name) && Object.keys(document.paths).includes(name.split(' ')[1] ?? '')
    return isAddressed && !codesOf({ ...operation }).includes('"not_found"')
  })
  expect(silent.map(({ name }) => name)).toEqual([])
})

test('the records and errors are named shapes, which the operations refer to', () => {
  const names = Object.keys(document.components.schemas)
  expect(names).toEqual(
    expect.arrayContaining([
      'Contact',
      'Conversation',
      'DeliveryAttempt',
      'Envelope',
      'Error',
      'Message',
      'Registration',
      'Sender',
      'Template',
    ]),
  )
  const text = JSON.stringify(document)
  expect(names.filter((name) => !text.includes(`"#/components/schemas/${name}"`))).toEqual([])
})

test.each(['IdempotencyKey'])('the parameter %s is declared once and stands on every keyed POST', (name) => {
  const keyed = operations.filter(({ name: one, security }) => one.startsWith('POST ') && security?.[0]?.apiKey)
  const without = keyed.filter(({ parameters = [] }) => !parameters.some(({ $ref }) => $ref?.endsWith(`/${name}`)))
  expect(without.map((one) => one.name)).toEqual([])
  expect(keyed.length).toBeGreaterThan(10)
})

test('the headers about limits, repetitions and requests are declared', () => {
  expect(Object.keys(document.components.headers)).toEqual(
    expect.arrayContaining([
      'RequestId',
      'RateLimitLimit',
      'RateLimitRemaining',
      'RateLimitReset',
      'RetryAfter',
      'IdempotentReplayed',
    ]),
  )
})

test('every error of an operation has the enum of its codes, each with the status of the catalogue', () => {
  const faults = operations.flatMap(({ name, responses }) =>
    Object.entries(responses).flatMap(([status, answer]) => {
      if (Number(status) < 400) return []
      const response = answer.$ref ? document.components.responses[answer.$ref.split('/').at(-1)!]! : answer
      const schema = JSON.stringify(response.content?.['application/json']?.schema)
      const codes = [...schema.matchAll(/"code":\{"enum":(\[[^\]]+\])/g)].flatMap(([, list]) => JSON.parse(list!))
      const isUncoded = /TextError|MessageError/.test(schema)
      const wrong = codes.filter((code) => ERROR_STATUSES[code as keyof typeof ERROR_STATUSES] !== Number(status))
      return wrong.length > 0 || (codes.length === 0 && !isUncoded) ? [`${name} ${status}: ${wrong}`] : []
    }),
  )
  expect(faults).toEqual([])
})

test('every body and answer has an example that fits its shape', () => {
  const ajv = new Ajv2020({ strict: false })
  addFormats.default(ajv)
  ajv.addSchema(document, 'document')
  const faults = contents.flatMap(({ place, media, pointer }) => {
    if (/(image|video|audio)\/|\*\/\*/.test(place)) return []
    const listed = Object.values(media.examples ?? {}).map(({ value }) => value)
    const examples = 'example' in media ? [media.example] : listed
    if (examples.length === 0) return [`${place} has no example`]
    const validate = ajv.compile({ $ref: pointer })
    return examples.flatMap((example) =>
      validate(example) ? [] : [`${place}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(example)}`],
    )
  })
  expect(faults).toEqual([])
  expect(contents.length).toBeGreaterThan(100)
})

test('every description is a sentence', () => {
  const descriptions: string[] = []
  const collect = (value: unknown, key = '') => {
    if (key === 'example' || key === 'examples') return
    if (key === 'description' && typeof value === 'string') descriptions.push(value)
    else if (typeof value === 'object' && value !== null) {
      for (const [name, one] of Object.entries(value)) collect(one, name)
    }
  }
  collect(document)
  expect(descriptions.length).toBeGreaterThan(300)
  expect(descriptions.filter((text) => !/^[`A-Z0-9].*\.$/s.test(text))).toEqual([])
  expect(operations.filter(({ description }) => !description).map(({ name }) => name)).toEqual([])
})

test('a send body is one of eleven shapes, distinguished by type', () => {
  const { $ref } = operationOf('sendWhatsAppMessage').requestBody!.content['application/json']!.schema!
  expect($ref).toBe('#/components/schemas/SendRequest')
  const { oneOf, discriminator } = document.components.schemas.SendRequest as {
    oneOf?: Schema[]
    discriminator?: unknown
  }
  expect(oneOf).toHaveLength(11)
  expect(discriminator).toEqual({
    propertyName: 'type',
    mapping: {
      text: '#/components/schemas/SendText',
      template: '#/components/schemas/SendTemplate',
      image: '#/components/schemas/SendImage',
      video: '#/components/schemas/SendVideo',
      audio: '#/components/schemas/SendAudio',
      document: '#/components/schemas/SendDocument',
      sticker: '#/components/schemas/SendSticker',
      interactive: '#/components/schemas/SendInteractive',
      location: '#/components/schemas/SendLocation',
      contacts: '#/components/schemas/SendContacts',
      reaction: '#/components/schemas/SendReaction',
    },
  })
})

test('the order of contacts is one of six', () => {
  const sort = operationOf('listContacts').parameters?.find(({ name }) => name === 'sort')
  expect(sort?.schema?.enum).toEqual(['created_at', '-created_at', 'updated_at', '-updated_at', 'email', '-email'])
})

test('a contact that was written always has an id in the answer', () => {
  const { schemas } = document.components
  expect(schemas.UpsertedContacts).toMatchObject({
    properties: { data: { items: { $ref: '#/components/schemas/Contact' } } },
  })
  expect(schemas.Contact?.required).toContain('id')
})

test('the answer to a key for browsers is described in addition to that to other keys, for one contact and for an array', () => {
  const { schema, examples } = operationOf('upsertContacts').responses['200']!.content!['application/json']!
  const names = ['UpsertedContacts', 'WrittenFields']
  expect(schema).toEqual({ anyOf: names.map((name) => ({ $ref: `#/components/schemas/${name}` })) })
  expect(Object.keys(examples ?? {})).toEqual(names)
  const { WrittenFields } = document.components.schemas
  expect(WrittenFields?.['x-permissions']).toEqual(['ContactsUpsert'])
  const items = Object(WrittenFields).properties.data.items
  expect(items.additionalProperties).toBe(false)
  expect(Object.keys(items.properties)).not.toContain('id')
  expect(WrittenFields?.description).toContain('at most 10 contacts; longer ones are answered 422')
})

test('the file of a message, the handshake and lists of contacts have the media types that they are answered in', () => {
  const typesOf = (id: string, status: string) => Object.keys(operationOf(id).responses[status]?.content ?? {})
  expect(typesOf('getMedia', '200')).toContain('*/*')
  expect(typesOf('getMedia', '206')).toContain('*/*')
  expect(operationOf('getMedia').responses).toHaveProperty('304')
  expect(typesOf('verifyProviderWebhook', '200')).toEqual(['text/plain'])
  expect(typesOf('exportContacts', '200')).toEqual(['text/csv', 'application/x-ndjson'])
})

test('an operation takes the credential of its surface, and an API key one of the permissions that it lists', () => {
  const accessOf = (id: string) => {
    const { security, 'x-permissions': permissions } = operationOf(id)
    return [security, permissions]
  }
  expect(accessOf('sendWhatsAppMessage')).toEqual([[{ apiKey: [] }], ['WhatsApp', 'Transactional']])
  expect(accessOf('listConversations')).toEqual([[{ apiKey: [] }], ['WhatsApp']])
  expect(accessOf('upsertContacts')[1]).toContain('ContactsUpsert')
  expect(accessOf('createCompany')).toEqual([[{ adminToken: [] }], undefined])
  expect(accessOf('getMedia')).toEqual([[], undefined])
  expect(accessOf('receiveProviderEvents')).toEqual([[], undefined])
})

test('the webhook that receivers get is described with its envelope and headers', () => {
  const operation = document.webhooks['whatsapp.message.received']?.post
  expect(operation?.requestBody?.content['application/json']?.schema).toEqual({ $ref: '#/components/schemas/Envelope' })
  expect(operation?.parameters?.map(({ name }) => name)).toEqual([
    'X-Service-Event',
    'X-Service-Delivery',
    'X-Service-Webhook-Id',
    'X-Service-Signature',
    'webhook-id',
    'webhook-timestamp',
    'webhook-signature',
  ])
})
