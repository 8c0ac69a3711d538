import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { bodyOf, changeOf, inboxOf, providerOf, textFrom } from '../provider-webhook.ts'
import { propertyRuns } from '../run/property-runs.ts'
import { startTestService, type TestService, uniquePhone } from '../service.ts'
import { providerBodies, signedBodies } from './provider-bodies.ts'

let service: TestService
let company: Awaited<ReturnType<TestService['createCompany']>>
let provider: ReturnType<typeof providerOf>
beforeAll(async () => {
  service = await startTestService()
  company = await service.createCompany()
  provider = providerOf(service)
  for (const [place, phoneNumberId] of numbersOf(providerBodies.map(({ body }) => body)).entries()) {
    const { status } = await service.operator('POST', `/companies/${company.companyId}/senders`, {
      provider: 'meta',
      phoneNumber: `+39 ${1e9 + place}`,
      phoneName: 'Acme',
      phoneNumberId,
      wabaAccountId: '1',
      accessToken: 'token',
      apiBaseUrl: 'http://127.0.0.1:9',
    })
    expect(status).toBe(201)
  }
}, 300_000)

const numbersOf = (bodies: Buffer[]): string[] => [
  ...new Set(
    bodies.flatMap((body) =>
      [...body.toString().matchAll(/"phone_number_id"\s*:\s*"([^"]+)"/g)].map((match) => match[1] ?? ''),
    ),
  ),
]

type Item = { id?: string; type?: string; reaction?: { message_id?: string } }

/** Messages and echoes of a body, as plainly as can be. */
function itemsOf(body: Buffer): Item[] {
  const lists: Item[][] = []
  for (const entry of JSON.parse(body.toString()).entry ?? []) {
    for (const { field = 'messages', value } of entry.changes ?? []) {
      if (field === 'messages') lists.push(value.messages ?? [])
      if (field === 'smb_message_echoes' || field === 'message_echoes') lists.push(value.message_echoes ?? [])
    }
  }
  return lists.flat()
}

/** Events about calls: each call is a message. */
const callsOf = (body: Buffer): number => body.toString().match(/"event"\s*:\s*"call_/g)?.length ?? 0

/** Rows are compared by key: sweeps delete old ones meanwhile. */
const placesOf = async () => {
  const [row] = await service.db<{ placed: string[]; deadLetters: number }[]>`
    select
      array(
        select 'message ' || id from messages
        union select 'reaction ' || wamid from message_reactions
        union select 'change ' || wamid from message_changes
      ) as placed,
      (
        select count(*) from inbound_items
        where state <> 'unreadable' and convert_from(body, 'utf8') ~ '"(messages|message_echoes)"\\s*:\\s*\\[\\s*\\{'
      )::int as dead_letters
  `
  return row!
}

const knownIds = async (): Promise<Set<string>> => {
  const rows = await service.db<{ wamid: string }[]>`
    select wamid from messages where wamid is not null
    union select wamid from message_reactions
    union select wamid from message_changes
  `
  return new Set(rows.map(({ wamid }) => wamid))
}

describe.skipIf(providerBodies.length === 0)('bodies collected from providers, posted', () => {
  test.each(providerBodies)('$file: all that its index counts has its place', async ({ body, counts }) => {
    const before = await placesOf()
    const ids = await knownIds()
    await provider.report(body.toString())
    const after = await placesOf()
    const items = itemsOf(body)
    expect(items).toHaveLength(counts.messages + counts.echoes)
    const placed =
      after.placed.filter((key) => !before.placed.includes(key)).length + (after.deadLetters - before.deadLetters)
    // They are recorded already, or are reactions to no message.
    const left = items.filter(
      ({ id, type, reaction }) =>
        ids.has(id ?? '') || (type === 'reaction' && (id === undefined || reaction?.message_id === undefined)),
    )
    expect(placed).toBeLessThanOrEqual(items.length + callsOf(body))
    expect(placed + left.length).toBeGreaterThanOrEqual(items.length)
  })

  test('and only items that name no customer failed', async () => {
    const reasons = await service.db`select distinct reason from inbound_items where state = 'failed'`
    expect(reasons.map(({ reason }) => reason)).toEqual(reasons.length === 0 ? [] : ['it names no customer'])
  })
})

describe('broken bodies, posted', () => {
  const own = JSON.stringify(
    bodyOf(
      changeOf('1', {
        contacts: [{ wa_id: '4915100000001', profile: { name: 'Ida' } }],
        messages: [textFrom('4915100000001', 'Hallo'), { ...textFrom('4915100000001', ''), type: 'image', image: {} }],
        statuses: [{ id: 'wamid.9', status: 'failed', timestamp: '1760000002', errors: [{ code: 131047 }] }],
      }),
      { field: 'message_template_status_update', value: { event: 'APPROVED', message_template_id: 5 } },
      changeOf('1', { user_preferences: [{ wa_id: '4915100000001', value: 'stop' }] }, 'user_preferences'),
    ),
  )
  const bodies = () => [
    own.replaceAll('"1"', `"${company.phoneNumberId}"`),
    ...providerBodies.map(({ body }) => String(body)),
  ]
  const hostile = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom('', '\0', '\uD800', '__proto__', 1e300, -1, 2 ** 70, [], {}, [[]], [null], 'x'.repeat(70_000)),
  )

  // src/providers/events/provider-bodies.test.ts tries every place of each body without a service.
  test('cut off anywhere, or with a value of another kind anywhere: 200, and nothing is stuck', async () => {
    const post = async (body: string) => expect((await provider.post(body)).status).toBe(200)
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.nat(), async (which, length) => {
        const all = bodies()
        const body = all[which % all.length] ?? ''
        await post(body.slice(0, length % body.length))
      }),
      { numRuns: propertyRuns(30) },
    )
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.nat(), hostile, async (which, place, value) => {
        const all = bodies()
        const tree = JSON.parse(all[which % all.length] ?? '{}')
        const slots = slotsOf(tree)
        const slot = slots[place % slots.length]
        if (slot) slot.holder[slot.name] = value
        await post(JSON.stringify(tree))
      }),
      { numRuns: propertyRuns(50) },
    )
    await provider.handled()
    const from = uniquePhone()
    await provider.messages(company.phoneNumberId, textFrom(from, 'still here'))
    expect(await inboxOf(company).texts(from)).toEqual(['still here'])
    const failed = await service.db`
      select distinct reason from inbound_items where state = 'failed' and reason <> 'it names no customer'
    `
    expect(failed.map(({ reason }) => reason)).toEqual([])
  }, 300_000)
})

describe.skipIf(signedBodies.length === 0)('bodies with their signatures, posted', () => {
  test.each(signedBodies)('$file is taken with its signature and refused without', async ({ body, secret, header }) => {
    const [phoneNumberId = ''] = numbersOf([body])
    await service.db`
      update senders set app_secret = ${service.deps.cipher.encrypt(secret)} where phone_number_id = ${phoneNumberId}
    `
    const refused = async () => (await provider.post(body.toString())).status
    await expect.poll(refused, { interval: 200 }).toBe(401)
    await provider.report(body.toString(), { 'x-hub-signature-256': header })
    await service.db`update senders set app_secret = null where phone_number_id = ${phoneNumberId}`
  })
})

type Slot = { holder: Record<string, unknown>; name: string }

function slotsOf(tree: unknown): Slot[] {
  if (typeof tree !== 'object' || tree === null) return []
  const holder = tree as Record<string, unknown>
  return Object.keys(holder).flatMap((name) => [{ holder, name }, ...slotsOf(holder[name])])
}
