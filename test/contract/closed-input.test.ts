import { describe, expect, test } from 'vitest'
import { isRecord } from '../../src/platform/text/json-text.ts'
import { ADMIN_TOKEN } from '../api.ts'
import { startTestService } from '../service.ts'
import { readContract } from './contract.ts'

const service = await startTestService()
const company = await service.createCompany()
const contract = readContract()

const UNKNOWN = 'notAMember'
type Node = Record<string, unknown>
type Media = { schema?: unknown; example?: unknown; examples?: Record<string, { value: unknown }> }
type Operation = {
  operationId: string
  tags?: string[]
  security?: Node[]
  parameters?: { name?: string; in?: string; $ref?: string }[]
  requestBody?: { content: Record<string, Media> }
}
type Call = { name: string; method: string; path: string; operation: Operation }

const calls: Call[] = Object.entries(contract.paths).flatMap(([path, operations]) =>
  Object.entries(operations as unknown as Record<string, Operation>).flatMap(([method, operation]) => {
    const isOpen = operation.security?.length === 0 || operation.tags?.includes('Legacy') === true
    return isOpen ? [] : [{ name: operation.operationId, method: method.toUpperCase(), path, operation }]
  }),
)
const resolve = (shape: unknown): Node => {
  const node = isRecord(shape) ? shape : {}
  return typeof node.$ref === 'string' ? resolve(contract.lookUp(node.$ref)) : node
}

/** The places of a body, as keys from its root, at which its shape is an object with members of its own. */
function closedPlaces(shape: unknown, value: unknown, place: (string | number)[] = []): (string | number)[][] {
  const node = resolve(shape)
  const branches = [node.oneOf, node.anyOf, node.allOf].flatMap((one) => (Array.isArray(one) ? one : []))
  const places = branches.flatMap((branch) => closedPlaces(branch, value, place))
  if (Array.isArray(value)) {
    if (isRecord(node.items)) places.push(...closedPlaces(node.items, value[0], [...place, 0]))
    return places
  }
  if (!isRecord(value) || !isRecord(node.properties)) return places
  if (node.additionalProperties === false) places.push(place)
  for (const [name, member] of Object.entries(value)) {
    places.push(...closedPlaces(node.properties[name], member, [...place, name]))
  }
  return places
}

function withUnknown(body: unknown, place: (string | number)[]): unknown {
  const copy = structuredClone(body)
  const target = place.reduce<unknown>((value, key) => (value as Record<string | number, unknown>)[key], copy)
  Object.assign(target as object, { [UNKNOWN]: 7 })
  return copy
}

const examplesOf = ({ example, examples = {} }: Media): unknown[] =>
  example === undefined ? Object.values(examples).map(({ value }) => value) : [example]

function addressOf({ path, operation }: Call): string {
  const address = path
    .replace('{companyId}', String(company.companyId))
    .replace('{language}', 'en')
    .replace('{name}', 'order_update')
  return operation.tags?.includes('Operator')
    ? address.replace('{id}', '1')
    : address.replaceAll(/\{[^}]+\}/g, '987654')
}

const request = (call: Call, query: string, body: unknown, type = 'application/json') =>
  service.call(service.url, call.method, `${addressOf(call).replaceAll(/\{[^}]+\}/g, '1')}${query}`, body, {
    authorization: `Bearer ${call.path.startsWith('/admin/') ? ADMIN_TOKEN : company.key.token}`,
    ...(body !== undefined && { 'content-type': type }),
  })

/** The rows of all tables but those that requests and workers write whatever they are about. */
async function rows(): Promise<Map<string, string>> {
  const tables = await service.db<{ name: string }[]>`
    select table_name as name
    from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE'
      and table_name !~ '^(request_|sweep|lease|process|idempotency|discarded_files|.*_stats?$)'
  `
  const contents = new Map<string, string>()
  for (const { name } of tables) {
    const [row] = await service.db<{ digest: string }[]>`
      select coalesce(md5(string_agg(line::text, '' order by line::text)), '') as digest from ${service.db(name)} as line
    `
    contents.set(name, row?.digest ?? '')
  }
  return contents
}

const before = await rows()

const places = calls.flatMap((call) =>
  Object.entries(call.operation.requestBody?.content ?? {}).flatMap(([type, media]) => {
    if (type !== 'application/json') return []
    return examplesOf(media).flatMap((example) => {
      const found = new Map(closedPlaces(media.schema, example).map((place) => [place.join('.'), place]))
      return [...found.values()].map((place) => ({ call, example, place, at: [...place, UNKNOWN].join('.') }))
    })
  }),
)

describe('an unknown member', () => {
  test('is tried at every depth of many bodies', () => {
    expect(places.length).toBeGreaterThan(50)
    expect(Math.max(...places.map(({ place }) => place.length))).toBeGreaterThan(2)
  })

  test.each(places.map((one) => [one.call.name, one.at, one] as const))('%s refuses %s', async (_name, _at, one) => {
    const { status, body } = await request(one.call, '', withUnknown(one.example, one.place))
    const fields: { path: string; message: string }[] = body.error.details.fields
    const found = fields.map(({ path, message }) => `${path.split(/[.[\]]+/).join('.')} ${message}`)
    expect([status, found]).toEqual([422, [`${one.at} is not known here`]])
  })

  const bodiless = calls.filter(({ method, operation }) => method !== 'GET' && operation.requestBody === undefined)

  test.each(bodiless.map((call) => [call.name, call] as const))('%s takes no member at all', async (_name, call) => {
    const { status, body } = await request(call, '', { [UNKNOWN]: 7 })
    expect([status, body.error.details.fields]).toEqual([422, [{ path: UNKNOWN, message: 'is not known here' }]])
  })
})

test.each(
  calls.map((call) => [call.name, call] as const),
)('%s refuses an unknown query parameter', async (_name, call) => {
  const [[type, media] = [undefined, {}]] = Object.entries(call.operation.requestBody?.content ?? {})
  const [example] = examplesOf(media)
  const content = type === undefined || type === 'application/json' ? example : 'email\nada@example.com'
  const { status, body } = await request(call, `?${UNKNOWN}=1`, content, type)
  const fields: { path: string; message: string }[] = body.error.details.fields
  expect([400, 422]).toContain(status)
  expect(fields).toContainEqual({ path: UNKNOWN, message: 'is not known here' })
})

test('nothing was changed by any of them', async () => {
  expect(await rows()).toEqual(before)
})
