import type { Client, Request } from '../client.ts'
import type { Contract, Operation } from '../operation.ts'
import type { Tally } from '../tally.ts'
import { thingOf } from '../thing.ts'
import { type Company, FOREIGN_MARK, type ThingName, type World } from '../world.ts'

/** Ids that no company has, in the form of each kind of thing. */
const MISSING: Record<ThingName, string> = {
  contact: '987654321012',
  customField: '987654321012',
  contactEmail: 'missing@example.com',
  conversation: '987654321012',
  registration: '987654321012',
  message: '987654321012',
  scheduledMessage: '987654321012',
  quickReply: '987654321012',
  // Later than every place of a list: ids of the log begin with their day.
  log: '900000000000001',
  delivery: '900000000000001',
  import: '987654321012',
  email: 'eml_missing00000000000000',
  transactional: '987654321012',
  emailTemplate: 'tmpl_missing0000000000000',
  sender: '987654321012',
  clientId: 'missing000000000',
  templateFamily: 'tmpl_missing0000000000000',
  senderNumber: '19876543210123',
}

/** Paths whose parameter is no id of a company's thing, and why. */
const WITHOUT_COMPANY = [
  /^\/public\/v1\/webhooks\/whatsapp\/\{secret\}$/, // the webhook's secret
  /^\/media\/\{token\}$/, // a signed address
  /^\/public\/v1\/templates\/whatsapp\/\{name\}/, // a name, looked up in the account of the caller's number
  /^\/admin\/v1\/(failed|unroutable)-(events|jobs)\//, // the operator's, of all companies
]

/** The body that makes each write a valid one. */
const BODIES: Record<string, unknown> = {
  'PATCH /public/v1/whatsapp/conversations/{chatId}': { status: 'closed' },
  'POST /public/v1/whatsapp/conversations/{chatId}/messages': { type: 'text', text: 'Hello' },
  'PATCH /public/v1/whatsapp/quick-replies/{id}': { text: 'Changed' },
  'PUT /public/v1/webhooks/registrations/{id}': { name: 'Renamed' },
  'POST /public/v1/webhooks/registrations/{id}/redeliver': { since: '2026-01-01T00:00:00Z' },
  'PUT /public/v1/contacts/{id}': { firstName: 'Renamed' },
  'PATCH /public/v1/custom-fields/{id}': { displayName: 'Renamed' },
}

/** Ids in bodies and queries: where they go, and what they name. */
const IN_REQUESTS: {
  name: string
  thing: ThingName
  /** An id that does not exist, where that must be at the same place of a list. */
  missingAt?: (id: string) => string
  build: (id: string, own: Company) => Request
}[] = [
  {
    name: 'template.id of a send',
    thing: 'templateFamily',
    build: (id) => send({ type: 'template', template: { id } }),
  },
  { name: 'sender of a send', thing: 'senderNumber', build: (id) => send({ type: 'text', text: 'Hi', sender: id }) },
  {
    name: 'uid of a template email',
    thing: 'emailTemplate',
    build: (uid) => post('/public/v1/templates/email/send', { uid, recipient: 'a@example.com' }),
  },
  {
    name: 'cursor of contacts',
    thing: 'contact',
    build: (id) => get(`/public/v1/contacts?sort=created_at&before=${cursorOf(['created_at', 1, Number(id)])}`),
  },
  {
    name: 'cursor of conversations',
    thing: 'conversation',
    build: (id) => get(`/public/v1/whatsapp/conversations?before=${id}`),
  },
  {
    name: 'cursor of messages',
    thing: 'message',
    missingAt: (id) => String(Number(id) + 1),
    build: (id, { things }) =>
      get(`/public/v1/whatsapp/conversations/${things.conversation.living}/messages?before=${id}`),
  },
  {
    name: 'cursor of delivery logs',
    thing: 'log',
    // Ids begin with their day, and one that does not exist stands at the end of it.
    missingAt: (id) => String(Math.floor(Number(id) / 1e9) * 1e9 + 999_999_999),
    build: (id, { things }) => get(`/public/v1/webhooks/registrations/${things.registration.living}/logs?before=${id}`),
  },
  {
    name: 'cursor of deliveries',
    thing: 'delivery',
    build: (id, { things }) =>
      get(`/public/v1/webhooks/registrations/${things.registration.living}/deliveries?before=${id}`),
  },
  {
    name: 'id of an order of custom fields',
    thing: 'customField',
    build: (id) => ({
      method: 'put',
      path: '/public/v1/custom-fields/order',
      body: JSON.stringify({ ids: [Number(id)] }),
    }),
  },
  { name: 'cursor of imports', thing: 'import', build: (id) => get(`/public/v1/contacts/imports?before=${id}`) },
]

const cursorOf = (place: unknown): string => Buffer.from(JSON.stringify(place)).toString('base64url')
const get = (path: string): Request => ({ method: 'get', path })
const post = (path: string, body: unknown): Request => ({ method: 'post', path, body: JSON.stringify(body) })
const send = (body: object): Request => post('/public/v1/templates/whatsapp/send', { recipient: '393330001', ...body })

/**
 * Asks every route for another company's ids and for deleted ones, with each permission, and compares the answer byte by
 * byte with that for an id that does not exist (spec: a foreign id answers as a missing one).
 */
export async function askForForeign(world: World, client: Client, contract: Contract, tally: Tally): Promise<void> {
  const withIds = contract.operations.filter(({ path }) => path.includes('{'))
  for (const operation of withIds.filter(({ path }) => !WITHOUT_COMPANY.some((one) => one.test(path)))) {
    if (operation.credential === 'adminToken') await askOperator(world, client, tally, operation)
    else await askWithKeys(world, client, tally, operation)
  }
  for (const { name, thing, missingAt, build } of IN_REQUESTS) {
    for (const id of idsOf(world, thing, name)) {
      const missing = missingAt?.(id) ?? MISSING[thing]
      await compare(world, client, tally, name, id, missing, (value) => build(value, world.own))
    }
  }
}

/** Each parameter of the path in turn names a foreign thing; the others name things of the asking company. */
async function askWithKeys(world: World, client: Client, tally: Tally, operation: Operation): Promise<void> {
  for (const [, parameter = ''] of operation.path.matchAll(/\{(\w+)\}/g)) {
    const thing = thingOf(operation, parameter)
    if (thing === undefined) {
      tally.add('routes not covered', operation.name)
      continue
    }
    const fill = (id: string) =>
      operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
        const owned = thingOf(operation, name)
        return encodeURIComponent(name === parameter ? id : owned ? world.own.things[owned].living : '1')
      })
    const build = (id: string) => ({
      method: operation.method,
      path: fill(id),
      ...(operation.name in BODIES && { body: JSON.stringify(BODIES[operation.name]) }),
    })
    for (const id of idsOf(world, thing, operation.name))
      await compare(world, client, tally, operation.name, id, MISSING[thing], build)
  }
}

/** Below a company of the operator's API: things of the other company. */
async function askOperator(world: World, client: Client, tally: Tally, operation: Operation): Promise<void> {
  const parameters = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  const last = parameters.length > 1 ? parameters.at(-1) : undefined
  if (last === undefined) return
  const thing = thingOf(operation, last)
  if (thing === undefined) return tally.add('routes not covered', operation.name)
  const ask = async (id: string) => {
    const path = operation.path.replace('{id}', String(world.own.id)).replace(`{${last}}`, id)
    const headers = { authorization: `Bearer ${world.adminToken}`, 'content-type': 'application/json' }
    const takesBody = Object.keys(operation.bodies).length > 0
    return client.send({ method: operation.method, path, headers, ...(takesBody && { body: '{}' }) })
  }
  const [foreign, missing] = [world.foreign.things[thing].living, MISSING[thing]]
  await count(tally, operation.name, 'operator', foreign, missing, ask)
}

/** Operations that also take what the company itself has deleted. */
const TAKES_DELETED = ['GET /public/v1/contacts/{id}/archive']

const idsOf = ({ foreign, own }: World, thing: ThingName, name: string): string[] =>
  [
    foreign.things[thing].living,
    foreign.things[thing].deleted,
    TAKES_DELETED.includes(name) ? undefined : own.things[thing].deleted,
  ].filter((id) => id !== undefined)

async function compare(
  world: World,
  client: Client,
  tally: Tally,
  name: string,
  id: string,
  missing: string,
  build: (id: string) => Request,
): Promise<void> {
  for (const asker of world.askers) {
    // The legacy addresses are not below the prefix of the console.
    if (asker.prefix !== '' && !build(id).path.startsWith('/public/')) continue
    await count(tally, name, asker.name, id, missing, (one) => {
      const request = build(one)
      return client.send({
        ...request,
        path: `${asker.prefix}${request.path}`,
        headers: { ...asker.headers, ...(request.body !== undefined && { 'content-type': 'application/json' }) },
      })
    })
  }
}

type Answer = { status: number; text: string }

/**
 * Counts answers that differ twice: what the company's own work changed between the first two, such as a delivery that was attempted
 * again, is printed only.
 */
async function count(
  tally: Tally,
  name: string,
  key: string,
  id: string,
  missing: string,
  ask: (id: string) => Promise<Answer>,
): Promise<void> {
  const differences: string[] = []
  while (differences.length < 2) {
    tally.requests += 2
    const [actual, expected] = [await ask(id), await ask(missing)]
    const [a, b] = [withoutId(actual.text, id), withoutId(expected.text, missing)]
    if (actual.status === 429)
      tally.add('answers that differ for foreign ids', `${name} with ${key}: the limit was met`)
    if (actual.text.includes(FOREIGN_MARK)) tally.add('leaks', `${name} with ${key}: ${actual.text.slice(0, 200)}`)
    if (actual.status === expected.status && a === b) break
    differences.push(`${name} with ${key}: ${actual.status} ${a} / ${expected.status} ${b}`)
  }
  const [difference, again] = differences
  if (again !== undefined) tally.add('answers that differ for foreign ids', again)
  else if (difference !== undefined) tally.figures.push(`differed once: ${difference}`)
}

/** The answer may name the id that was asked for. */
function withoutId(text: string, id: string): string {
  const literal = id.replaceAll(/[^\w-]/g, '\\$&')
  return text.replaceAll(new RegExp(`(?<![\\w.-])${literal}(?![\\w.-])`, 'g'), '<id>')
}
