import { Agent, request } from 'undici'
import { describe, expect, test } from 'vitest'
import { atFileEnd } from '../file-end.ts'
import { startShops } from './browser-key-world.ts'

const { operator, url, createShop, uniqueEmail, createVictim } = await startShops()

describe('what a key for browsers stores in an hour', () => {
  const KIB = 1_024
  const contact = (bytes: number) => ({ email: uniqueEmail(), customFields: { note: 'x'.repeat(bytes) } })

  test('is bounded for the key and for an address, kept answers included', async () => {
    const shop = await createShop({ storedBytesPerHour: 50 * KIB })
    const statuses: number[] = []
    for (let n = 0; n < 4; n += 1) {
      const headers = n === 2 ? { 'idempotency-key': 'kept' } : {}
      statuses.push((await shop.asPage('POST', '/contacts', contact(3 * KIB), headers)).status)
    }
    expect(statuses).toEqual([200, 200, 429, 429])
    const over = await shop.write(contact(1))
    expect([over.status, over.body.error.code]).toEqual([429, 'rate_limit_exceeded'])
    expect(Number(over.headers.get('retry-after'))).toBeGreaterThan(3_000)
    expect((await shop.asServer('POST', '/contacts', contact(60 * KIB))).status).toBe(200)
    // What is only read, and what other addresses store, goes on; the key has its own bound.
    expect((await shop.asPage('GET', '/me')).status).toBe(200)
    const others: number[] = []
    for (let n = 2; n < 8; n += 1) others.push(await writeFrom(`127.0.9.${n}`, shop.page.token, contact(9 * KIB)))
    expect(others).toEqual([200, 200, 200, 200, 429, 429])
  })

  test('is 20 MiB unless the operator sets another number', async () => {
    const shop = await createShop()
    expect(shop.page.storedBytesPerHour).toBeNull()
    const path = `/companies/${shop.companyId}/api-keys/${shop.page.clientId}`
    expect((await operator('PATCH', path, { storedBytesPerHour: 2_000 })).body.storedBytesPerHour).toBe(2_000)
    expect((await shop.write(contact(1_000))).status).toBe(429)
    expect((await operator('PATCH', path, { storedBytesPerHour: null })).body.storedBytesPerHour).toBeNull()
    expect((await shop.write(contact(60 * KIB))).status).toBe(200)
    expect((await operator('PATCH', path, { storedBytesPerHour: 0 })).status).toBe(422)
  })
})

async function writeFrom(localAddress: string, token: string, body: unknown): Promise<number> {
  const dispatcher = new Agent({ localAddress })
  atFileEnd(() => dispatcher.close())
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const answer = await request(`${url}/public/v1/contacts`, {
    ...{ method: 'POST', headers, body: JSON.stringify(body), dispatcher },
  })
  await answer.body.dump()
  return answer.statusCode
}

test('GET /public/v1/me shows a key for browsers its permissions and nothing else', async () => {
  const shop = await createShop()
  expect((await shop.asPage('GET', '/me')).body).toEqual({ data: { permissions: ['ContactsUpsert'] } })
  expect((await shop.asServer('GET', '/me')).body.data).toMatchObject({ company: { id: shop.companyId } })
})

describe('writableFields', () => {
  test('narrow what the key writes, of new contacts too; the rest is ignored with the same answer', async () => {
    const shop = await createShop({ writableFields: ['firstName', 'customFields.SIZE', 'source_type'] })
    const members = {
      firstName: 'Eve',
      lastName: 'Attacker',
      status: 'vip',
      source: 'page',
      source_type: 'third_party',
      tags: ['gold'],
      customFields: { SIZE: 42, LOYALTY_TIER: 'gold' },
      marketingConsent: { email: true },
    }
    const victim = await createVictim(shop, { lastName: 'Rossi', customFields: { LOYALTY_TIER: 'none' } })
    for (const email of [victim.email, uniqueEmail()]) {
      const answer = await shop.write({ email, ...members })
      expect(answer.body.data[0]).toMatchObject({ last_name: 'Attacker', tags: ['gold'], status: 'vip' })
      expect(await shop.find(email)).toMatchObject({
        first_name: 'Eve',
        last_name: email === victim.email ? 'Rossi' : null,
        status: 'active',
        source: 'API',
        source_type: 'third_party',
        tags: [],
        custom_fields: { SIZE: 42, ...(email === victim.email && { LOYALTY_TIER: 'none' }) },
        marketing_consent: { email: null, whatsapp: null },
      })
    }
  })

  test('that do not exist are refused by name, and so are settings for other keys', async () => {
    const { companyId } = await createShop()
    const create = async (body: object) => {
      const answer = await operator('POST', `/companies/${companyId}/api-keys`, { name: 'k', ...body })
      return [answer.status, answer.body.error?.details.fields.map(({ path }: { path: string }) => path)]
    }
    const [browser, both] = [['ContactsUpsert'], ['ContactsUpsert', 'WhatsApp']]
    expect(await create({ permissions: browser, writableFields: ['tags', 'email', 'customFields.'] })).toEqual([
      422,
      ['writableFields[1]', 'writableFields[2]'],
    ])
    const settings = { rateLimitPerMinute: 5, rateLimitPerAddress: 2, writableFields: [], identitySecret: true }
    expect(await create({ permissions: both, ...settings })).toEqual([422, Object.keys(settings)])
    expect(await create({ permissions: browser, ...settings })).toEqual([201, undefined])
    expect(await create({ permissions: browser, rateLimitPerMinute: 0 })).toEqual([422, ['rateLimitPerMinute']])
  })
})

describe('the rate limit', () => {
  const agents = new Map<string, Agent>()
  atFileEnd(async () => {
    for (const agent of agents.values()) await agent.destroy()
  })
  const from = async (localAddress: string, token: string) => {
    const agent = agents.get(localAddress) ?? new Agent({ localAddress })
    agents.set(localAddress, agent)
    const headers = { authorization: `Bearer ${token}` }
    const { statusCode, headers: sent, body } = await request(`${url}/public/v1/me`, { headers, dispatcher: agent })
    await body.dump()
    return { status: statusCode, limit: Number(sent['x-ratelimit-limit']) }
  }
  const spend = async (token: string, addresses: string[], times: number) => {
    const statuses: number[] = []
    for (const address of addresses) {
      for (let time = 0; time < times; time += 1) statuses.push((await from(address, token)).status)
    }
    return statuses.filter((status) => status === 200).length
  }

  test('is half of the company’s, a fifth for one address, and leaves the rest to servers', async () => {
    const shop = await createShop({}, 20)
    const { token } = shop.page
    expect(await spend(token, ['127.0.1.1'], 6)).toBe(4)
    expect((await from('127.0.1.1', token)).limit).toBe(4)
    expect(await spend(token, ['127.0.1.2', '127.0.1.3', '127.0.1.4'], 5)).toBe(6)
    const answers = []
    for (let time = 0; time < 11; time += 1) answers.push((await shop.asServer('GET', '/me')).status)
    expect(answers).toEqual([...Array(10).fill(200), 429])
  })

  test('is what the operator sets, and never more than the company’s', async () => {
    const shop = await createShop({ rateLimitPerMinute: 3, rateLimitPerAddress: 2 }, 20)
    expect(await spend(shop.page.token, ['127.0.2.1', '127.0.2.2'], 4)).toBe(3)
    const path = `/companies/${shop.companyId}/api-keys/${shop.page.clientId}`
    const changed = await operator('PATCH', path, { rateLimitPerMinute: 500, rateLimitPerAddress: null })
    expect(changed.body).toMatchObject({ rateLimitPerMinute: 500, rateLimitPerAddress: null, writableFields: null })
    expect((await from('127.0.2.3', shop.page.token)).limit).toBe(4)
  })

  test('and the fields are changed for keys of browsers alone', async () => {
    const shop = await createShop()
    const path = `/companies/${shop.companyId}/api-keys`
    const [server] = (await operator('GET', path)).body
    expect((await operator('PATCH', `${path}/${server.clientId}`, { writableFields: [] })).status).toBe(422)
    expect((await operator('PATCH', `${path}/${shop.page.clientId}`, { writableFields: ['nickname'] })).status).toBe(
      422,
    )
    expect((await operator('PATCH', `${path}/unknown`, {})).status).toBe(404)
    await operator('PATCH', `${path}/${shop.page.clientId}`, { writableFields: [] })
    const email = uniqueEmail()
    await shop.write({ email, firstName: 'Eve' })
    expect((await shop.find(email)).first_name).toBeNull()
  })
})
