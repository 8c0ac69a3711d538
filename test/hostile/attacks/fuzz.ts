import { DEFAULT_BODY_LIMIT } from '../../../src/http/server/server.ts'
import { type Answer, type Client, judge, type Request, type Secrets } from '../client.ts'
import type { Contract, Operation, Schema } from '../operation.ts'
import type { Random } from '../random.ts'
import type { Tally } from '../tally.ts'
import { thingOf } from '../thing.ts'
import type { World } from '../world.ts'
import { HOSTILE_BODIES, HOSTILE_HEADERS, HOSTILE_SEGMENTS, HOSTILE_VALUES } from './values.ts'

export type FuzzOptions = { requests: number; concurrency: number; random: Random; secrets: Secrets }

/**
 * Sends requests to every operation of openapi.json by turns: a valid one in which one thing or several are hostile. It
 * counts 5xx, slow answers, answers that the document does not describe, and leaks.
 */
export async function fuzz(world: World, client: Client, contract: Contract, tally: Tally, options: FuzzOptions) {
  const { random } = options
  let sent = 0
  const worker = async () => {
    while (sent < options.requests) {
      const operation = contract.operations[sent++ % contract.operations.length]
      if (operation === undefined) return
      const request = buildRequest(world, contract, operation, random)
      const answer = await client.send(request).catch((error: Error) => error)
      if (answer instanceof Error) reportLost(tally, operation, request, answer)
      else await judgeAnswer(world, contract, tally, options, operation, request, answer)
    }
  }
  await Promise.all(Array.from({ length: options.concurrency }, worker))
}

/** A client that still sends a body which is refused for its length may find the connection closed before it reads the answer. */
function reportLost(tally: Tally, operation: Operation, { body = '' }: Request, error: Error): void {
  tally.requests++
  if (body.length > DEFAULT_BODY_LIMIT && /EPIPE|ECONNRESET/.test(error.message)) return
  tally.add('connections without an answer', `${operation.name}: ${error.message}`)
}

async function judgeAnswer(
  world: World,
  contract: Contract,
  tally: Tally,
  { secrets }: FuzzOptions,
  operation: Operation,
  request: Request,
  answer: Answer,
): Promise<void> {
  judge(tally, contract, secrets, operation, request, answer)
  if (world.canary.hits() > 0) tally.add('leaks', `a private address was reached after ${operation.name}`)
}

function buildRequest(world: World, contract: Contract, operation: Operation, random: Random): Request {
  const query = operation.parameters.filter((one) => one.in === 'query' && random.chance(0.5))
  const search = query.map(({ name }) => `${name}=${queryValue(random)}`).join('&')
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => pathValue(world, operation, name, random))
  const body = buildBody(world, contract, operation, random)
  return {
    method: operation.method,
    path: search === '' ? path : `${path}?${search}`,
    headers: {
      ...credentialOf(world, operation, random),
      ...body.headers,
      ...(random.chance(0.15) && random.pick(HOSTILE_HEADERS)),
    },
    ...(body.body !== undefined && { body: body.body }),
  }
}

function credentialOf(world: World, { credential }: Operation, random: Random): Record<string, string> {
  if (credential === 'none') return {}
  if (random.chance(0.03))
    return { authorization: random.pick(['Bearer', 'Bearer x', 'Basic YTpi', `Bearer ${'-'.repeat(3000)}`]) }
  if (credential === 'adminToken') return { authorization: `Bearer ${world.adminToken}` }
  const { all, ContactsUpsert } = world.own.keys
  return { authorization: `Bearer ${random.chance(0.9) ? all : ContactsUpsert}` }
}

const queryValue = (random: Random): string =>
  random.chance(0.3)
    ? random.pick(['1', '2', '25', '100', 'email', 'csv', 'category', 'a'])
    : random.pick(HOSTILE_SEGMENTS)

/** The operator's paths name a company of their own, so that a deletion takes nothing that the rest needs. */
function pathValue(world: World, operation: Operation, name: string, random: Random): string {
  if (random.chance(0.3)) return random.pick(HOSTILE_SEGMENTS)
  if (operation.credential === 'adminToken' && name === 'id') {
    return operation.method === 'get' ? String(world.own.id) : random.pick(['999999', String(world.foreign.id + 1)])
  }
  const thing = thingOf(operation, name)
  if (thing === undefined) return random.pick(HOSTILE_SEGMENTS)
  const { living, deleted } = world.own.things[thing]
  const isRemoved = operation.method === 'delete' && deleted !== undefined
  return encodeURIComponent(isRemoved ? deleted : living)
}

function buildBody(world: World, contract: Contract, operation: Operation, random: Random) {
  const types = Object.keys(operation.bodies)
  const takesBody = types.length > 0 || operation.path.includes('/webhooks/whatsapp')
  if (operation.method === 'get' || (!takesBody && random.chance(0.8))) return { headers: {} }
  if (types.length === 0 || random.chance(0.2)) {
    const { type, text } = random.pick(HOSTILE_BODIES)
    return { headers: type === undefined ? {} : { 'content-type': type }, body: text }
  }
  const schema = operation.bodies['application/json']?.schema ?? operation.bodies[random.pick(types)]?.schema ?? {}
  const sample = sampleOf(contract, schema, random, 0)
  const mutated = random.chance(0.85) ? mutate(sample, random) : sample
  return {
    headers: { 'content-type': 'application/json' },
    body: withCanary(world, JSON.stringify(mutated) ?? '', random),
  }
}

/** Addresses in a body sometimes lead to the private server that nothing may reach. */
function withCanary(world: World, body: string, random: Random): string {
  return random.chance(0.1) ? body.replaceAll(/https:\/\/[^"\\]+/g, world.canary.url) : body
}

function sampleOf(contract: Contract, shape: Schema, random: Random, depth: number): unknown {
  const schema = contract.resolve(shape)
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return random.pick(schema.enum)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return sampleOf(contract, random.pick(choices), random, depth)
  if (schema.allOf) {
    return Object.assign({}, ...schema.allOf.map((one) => Object(sampleOf(contract, one, random, depth))))
  }
  const type = Array.isArray(schema.type) ? random.pick(schema.type) : schema.type
  if (type === 'object' || schema.properties) return sampleObject(contract, schema, random, depth)
  if (type === 'array') return depth > 6 || !schema.items ? [] : [sampleOf(contract, schema.items, random, depth + 1)]
  if (type === 'integer' || type === 'number') return Math.max(schema.minimum ?? 1, 1)
  if (type === 'boolean') return random.chance(0.5)
  if (type === 'null') return null
  return sampleString(schema, random)
}

function sampleObject(contract: Contract, schema: Schema, random: Random, depth: number): unknown {
  const required = new Set(schema.required ?? [])
  const chosen = Object.entries(schema.properties ?? {}).filter(([name]) => required.has(name) || random.chance(0.5))
  return Object.fromEntries(chosen.map(([name, one]) => [name, sampleOf(contract, one, random, depth + 1)]))
}

function sampleString({ format, minLength = 0 }: Schema, random: Random): string {
  if (format === 'email') return `a${random.below(1_000)}@example.com`
  if (format === 'date-time') return '2026-01-01T00:00:00Z'
  const plain = random.pick([
    '39333100000',
    'https://example.com/a',
    'a@example.com',
    'hello',
    'whatsapp.message.received',
    '1',
  ])
  return plain.padEnd(minLength, 'x')
}

const STRANGE_NAMES = ['__proto__x', 'constructor', 'extra', '']

/** Puts hostile values at one to three places of a body. */
function mutate(sample: unknown, random: Random): unknown {
  const copy: unknown = structuredClone(sample)
  const holder = { body: copy }
  for (let times = 1 + random.below(3); times > 0; times--) replaceOne(holder, random)
  return holder.body
}

function replaceOne(root: Record<string, unknown>, random: Random): void {
  let [place, key] = [root, 'body']
  for (;;) {
    const inner = place[key]
    const keys = inner !== null && typeof inner === 'object' ? Object.keys(inner) : []
    if (keys.length === 0 || random.chance(0.15)) break
    place = inner as Record<string, unknown>
    key = random.pick(keys)
  }
  const choice = random.below(10)
  if (choice === 0) delete place[key]
  else if (choice === 1) place[random.pick(STRANGE_NAMES)] = structuredClone(random.pick(HOSTILE_VALUES))
  else place[key] = structuredClone(random.pick(HOSTILE_VALUES))
}
