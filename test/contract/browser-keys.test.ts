import { createHmac } from 'node:crypto'
import { Agent, request } from 'undici'
import { describe, expect, test } from 'vitest'
import { atFileEnd } from '../file-end.ts'
import { startTestService, uniquePhone } from '../service.ts'

const service = await startTestService({
  mirrors: true,
  config: { legacyRemovalDate: new Date('2100-01-01T00:00:00Z') },
})
const { operator, call, url, db } = service

type Answer = Awaited<ReturnType<typeof call>>

/** A company with a key of a server and a key for browsers. */
async function createShop(settings: object = {}, rateLimitPerMinute = 1_000_000) {
  const company = (await operator('POST', '/companies', { name: 'Shop', rateLimitPerMinute })).body
  const path = `/companies/${company.id}/api-keys`
  const [server, page] = [
    (await operator('POST', path, { name: 'Server', permissions: ['WhatsApp', 'Transactional'] })).body,
    (await operator('POST', path, { name: 'Page', permissions: ['ContactsUpsert'], ...settings })).body,
  ]
  const as =
    ({ token }: { token: string }) =>
    (method: string, path: string, body?: unknown, headers = {}) =>
      call(url, method, path.startsWith('/api') ? path : `/public/v1${path}`, body, {
        authorization: `Bearer ${token}`,
        ...headers,
      })
  const write = (body: unknown): Promise<Answer> => as(page)('POST', '/contacts', body)
  const find = async (email: string) =>
    (await as(server)('GET', `/contacts/by-email/${encodeURIComponent(email)}`)).body.data
  return { companyId: company.id as number, page, asServer: as(server), asPage: as(page), write, find }
}
let numbers = 0
const uniqueEmail = () => `victim${numbers++}@example.com`

/** A contact that the server knows, and the shop. */
async function createVictim(shop: Awaited<ReturnType<typeof createShop>>, members: object = {}) {
  const victim = { email: uniqueEmail(), phone: uniquePhone(), firstName: 'Ada', ...members }
  expect((await shop.asServer('POST', '/contacts', victim)).status).toBe(200)
  return victim
}

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

describe('a key that holds ContactsUpsert alone', () => {
  test('changes neither email nor phone of a contact, with the answer that it always gives', async () => {
    const shop = await createShop()
    const victim = await createVictim(shop)
    const attack = { email: victim.email, phone: uniquePhone() }
    const answer = await shop.write(attack)
    const ofNobody = await shop.write({ ...attack, email: uniqueEmail() })
    expect([answer.status, answer.body.data]).toEqual([200, [{ email: victim.email, phone: `+${attack.phone}` }]])
    expect(Object.keys(answer.body.data[0])).toEqual(Object.keys(ofNobody.body.data[0]))
    expect((await shop.find(victim.email)).phone).toBe(`+${victim.phone}`)

    await shop.write({ phone: victim.phone, email: 'attacker@example.com', marketingConsent: { email: true } })
    expect(await shop.find(victim.email)).toMatchObject({ email: victim.email, phone: `+${victim.phone}` })
    expect(await shop.find('attacker@example.com')).toBeUndefined()
    // The consent was for the address that was ignored.
    expect((await shop.find(victim.email)).marketing_consent.email).toBeNull()
  })

  test('adds the missing phone or email, and updates the rest', async () => {
    const shop = await createShop()
    const victim = await createVictim(shop, { phone: undefined })
    const phone = uniquePhone()
    await shop.write({ email: victim.email, phone, firstName: 'Ida', customFields: { SIZE: 42 } })
    expect(await shop.find(victim.email)).toMatchObject({
      phone: `+${phone}`,
      first_name: 'Ida',
      custom_fields: { SIZE: 42 },
    })
    await shop.write({ email: victim.email, phone: uniquePhone() })
    expect((await shop.find(victim.email)).phone).toBe(`+${phone}`)
  })

  test('never ends an opt-out of a contact, and records an opt-out', async () => {
    const shop = await createShop()
    const optedOut = { marketingConsent: { email: false, whatsapp: false } }
    const victim = await createVictim(shop, optedOut)
    const optIn = { marketingConsent: { email: true, whatsapp: true } }
    const answer = await shop.write({ email: victim.email, ...optIn })
    expect(answer.body.data).toEqual([{ email: victim.email, marketing_consent: optIn.marketingConsent }])
    expect((await shop.find(victim.email)).marketing_consent).toEqual(optedOut.marketingConsent)
    const other = await createVictim(shop)
    await shop.write({ email: other.email, ...optIn })
    expect((await shop.find(other.email)).marketing_consent).toEqual(optIn.marketingConsent)
    await shop.write({ email: other.email, ...optedOut })
    expect((await shop.find(other.email)).marketing_consent).toEqual(optedOut.marketingConsent)
  })

  test('does not end the opt-out of a deleted contact, of an erased one, or of another contact with the number', async () => {
    const shop = await createShop()
    const optIn = { marketingConsent: { email: true, whatsapp: true } }
    for (const query of ['', '?erase=true']) {
      const gone = await createVictim(shop, { marketingConsent: { email: false, whatsapp: false } })
      const { id } = await shop.find(gone.email)
      expect((await shop.asServer('DELETE', `/contacts/${id}${query}`)).status).toBe(200)
      await shop.write({ email: gone.email, phone: gone.phone, ...optIn })
      expect((await shop.find(gone.email)).marketing_consent).toEqual({ email: false, whatsapp: false })
    }
    const sharing = await createVictim(shop, { marketingConsent: { whatsapp: false } })
    const email = uniqueEmail()
    await shop.asServer('POST', '/contacts', { email })
    await shop.asServer('PUT', `/contacts/${(await shop.find(email)).id}`, { phone: sharing.phone })
    await shop.write({ email, ...optIn })
    expect((await shop.find(email)).marketing_consent).toEqual({ email: true, whatsapp: false })
  })

  test('writes arrays of at most 10 contacts, each as if it came alone', async () => {
    const shop = await createShop()
    const [victim, email] = [await createVictim(shop), uniqueEmail()]
    const [first, second] = [uniquePhone(), uniquePhone()]
    const answer = await shop.write([
      { email: victim.email, phone: first },
      { email, phone: first },
      { email, phone: second, firstName: 'Eve' },
    ])
    expect(answer.status).toBe(200)
    expect((await shop.find(victim.email)).phone).toBe(`+${victim.phone}`)
    expect(await shop.find(email)).toMatchObject({ phone: `+${first}`, first_name: 'Eve' })
    const contacts = Array.from({ length: 11 }, () => ({ email: uniqueEmail() }))
    const refused = await shop.write(contacts)
    expect([refused.status, refused.body.error.message]).toEqual([422, 'The array must hold 1 to 10 contacts'])
    expect((await shop.write(contacts.slice(1))).status).toBe(200)
    expect((await shop.asServer('POST', '/contacts', contacts)).status).toBe(200)
  })

  test('is held to the same rules at the legacy address', async () => {
    const shop = await createShop()
    const victim = await createVictim(shop, { marketingConsent: { email: false } })
    const attack = { email: victim.email, phone: uniquePhone(), marketingConsent: { email: true } }
    expect((await shop.asPage('POST', '/api/contacts', attack)).body).toEqual([{}])
    expect(await shop.find(victim.email)).toMatchObject({
      phone: `+${victim.phone}`,
      marketing_consent: { email: false },
    })
  })
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

describe('a proof of identity', () => {
  const proofOf = (secret: string, identity: string) => createHmac('sha256', secret).update(identity).digest('hex')

  test('lifts the restriction to the contact that has the identity', async () => {
    const shop = await createShop({ identitySecret: true, writableFields: ['firstName', 'marketingConsent'] })
    const secret = shop.page.identitySecret
    const optedOut = { marketingConsent: { email: false, whatsapp: false } }
    const optIn = { marketingConsent: { email: true, whatsapp: true } }
    const owner = await createVictim(shop, optedOut)
    const phone = uniquePhone()
    const identityProof = proofOf(secret, owner.email)
    const answer = await shop.write({
      ...optIn,
      email: owner.email.toUpperCase(),
      phone,
      tags: ['gold'],
      identityProof,
    })
    expect([answer.status, answer.text.includes(identityProof)]).toEqual([200, false])
    expect(await shop.find(owner.email)).toMatchObject({
      phone: `+${phone}`,
      tags: [],
      marketing_consent: optIn.marketingConsent,
    })
    const email = uniqueEmail()
    await shop.write({ phone: `+${phone}`, email, identityProof: proofOf(secret, phone) })
    expect((await shop.find(email)).phone).toBe(`+${phone}`)
  })

  test('of one’s own identity opens no contact of another person', async () => {
    const shop = await createShop({ identitySecret: true })
    const victim = await createVictim(shop, { marketingConsent: { email: false, whatsapp: false } })
    const phone = uniquePhone()
    const attack = { email: victim.email, phone, marketingConsent: { email: true, whatsapp: true } }
    expect((await shop.write({ ...attack, identityProof: proofOf(shop.page.identitySecret, phone) })).status).toBe(200)
    expect(await shop.find(victim.email)).toMatchObject({
      phone: `+${victim.phone}`,
      marketing_consent: { email: false, whatsapp: false },
    })
  })

  test('that is wrong is refused alike for contacts that exist and for others, in arrays and forms too', async () => {
    const shop = await createShop({ identitySecret: true })
    const victim = await createVictim(shop)
    const identityProof = proofOf('another secret', victim.email)
    for (const [body, path] of [
      [{ email: victim.email, identityProof }, 'identityProof'],
      [{ email: uniqueEmail(), identityProof }, 'identityProof'],
      [[{ email: uniqueEmail() }, { email: victim.email, identityProof }], '1.identityProof'],
      [{ email: victim.email, identityProof: 'short' }, 'identityProof'],
    ] as const) {
      const { status, body: refused } = await shop.write(body)
      expect([status, refused.error.details.fields[0].path]).toEqual([422, path])
    }
    const form = new URLSearchParams({ email: victim.email, identityProof }).toString()
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    expect((await shop.asPage('POST', '/contacts', form, headers)).status).toBe(422)
    const without = await createShop()
    expect((await without.write({ email: victim.email, identityProof })).body.error.message).toContain(
      'needs a key with an identity secret',
    )
  })

  test('needs a secret that is shown once and stored encrypted', async () => {
    const shop = await createShop({ identitySecret: true })
    const [key] = await db`
      select api_keys::text as everything, identity_secret from api_keys
      where company_id = ${shop.companyId} and client_id = ${shop.page.clientId}`
    expect(key!.everything).not.toContain(shop.page.identitySecret)
    expect(service.deps.cipher.decrypt(key!.identitySecret)).toBe(shop.page.identitySecret)
    const listed = await operator('GET', `/companies/${shop.companyId}/api-keys`)
    expect(listed.text).not.toContain(shop.page.identitySecret)
    expect(listed.body.map(({ hasIdentitySecret }: { hasIdentitySecret: boolean }) => hasIdentitySecret)).toEqual([
      false,
      true,
    ])
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
