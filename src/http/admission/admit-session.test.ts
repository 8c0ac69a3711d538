import { describe, expect, test } from 'vitest'
import { startConsole } from '../../../test/console/world/console-client.ts'
import { eventually, uniquePhone } from '../../../test/service.ts'

const lines: Record<string, unknown>[] = []
const service = await startConsole({ onLog: (line) => lines.push(line) })
const { db, createCompany, operator, send, asPage, signIn, signInAsOperator, origin } = service
const [own, other] = [await createCompany(), await createCompany()]
const agent = await signIn(own.key.token)
const operatorPage = (await signInAsOperator()).page
const CONTACTS = '/public/v1/contacts'

const contact = async (firstName: string) =>
  (
    await service.call(
      origin,
      'POST',
      CONTACTS,
      { email: `${firstName}@example.com`, firstName },
      {
        authorization: `Bearer ${firstName === 'foreign' ? other.key.token : own.key.token}`,
      },
    )
  ).body.data[0].id

const [ownContact, foreignContact] = [await contact('own'), await contact('foreign')]

describe('below the prefix of the console', () => {
  test('the API answers for the company of the session', async () => {
    const list = await agent.page('GET', CONTACTS)
    expect(list.body.data.map(({ id }: { id: number }) => id)).toEqual([ownContact])
    expect(list.headers).toMatchObject({ 'x-ratelimit-limit': '600', 'cache-control': 'no-store' })
    const me = await agent.page('GET', '/public/v1/me')
    expect(me.body.data).toMatchObject({
      name: 'Shop key',
      company: { id: own.companyId },
      permissions: ['WhatsApp', 'Transactional'],
    })
  })

  test('an id of another company is answered as a missing one', async () => {
    const [foreign, missing] = [
      await agent.page('GET', `${CONTACTS}/${foreignContact}`),
      await agent.page('GET', `${CONTACTS}/987654321012`),
    ]
    expect([foreign.status, foreign.text]).toEqual([404, missing.text])
  })

  test('a session needs the permission of the route', async () => {
    const key = await operator('POST', `/companies/${own.companyId}/api-keys`, {
      name: 'Mail',
      permissions: ['Transactional'],
    })
    const { page } = await signIn(key.body.token)
    for (const [method, path] of [
      ['GET', '/public/v1/whatsapp/conversations'],
      ['GET', '/public/v1/webhooks/registrations'],
    ] as const) {
      const answer = await page(method, path)
      expect([answer.status, answer.body.error.message]).toEqual([403, 'The session needs the permission WhatsApp'])
    }
    expect((await page('GET', '/public/v1/templates/email')).status).toBe(200)
  })

  test('messages carry the name of the session', async () => {
    const { body: link } = await operator('POST', `/companies/${own.companyId}/sign-in-links`, { name: 'Mara' })
    const { page } = await signIn(service.codeOf(link.url))
    const template = { name: 'order_update', languageCode: 'en_US', components: [] }
    const parameters = [
      { type: 'text', text: 'Ada' },
      { type: 'text', text: '1' },
    ]
    const body = {
      recipient: uniquePhone(),
      type: 'template',
      template: { ...template, components: [{ type: 'BODY', parameters }] },
    }
    const keyed = { 'idempotency-key': 'draft 1' }
    const sent = await page('POST', '/public/v1/templates/whatsapp/send', body, keyed)
    expect(sent.status, sent.text).toBe(200)
    const again = await page('POST', '/public/v1/templates/whatsapp/send', body, keyed)
    expect([again.text, again.headers['idempotent-replayed']]).toEqual([sent.text, 'true'])
    const { data } = (await page('GET', `/public/v1/whatsapp/conversations/${sent.body.data.chatId}/messages`)).body
    expect(data).toMatchObject([{ senderName: 'Mara' }])
    const kept =
      await db`select client_id from idempotency_keys where company_id = ${own.companyId} and path like '%/send'`
    expect(kept).toEqual([{ clientId: expect.stringMatching(/^console:\d+$/) }])
  })

  test('requests count against the session, not against the company', async () => {
    const limited = (await operator('POST', '/companies', { name: 'Small', rateLimitPerMinute: 1 })).body
    const key = await operator('POST', `/companies/${limited.id}/api-keys`, { name: 'Key', permissions: ['WhatsApp'] })
    const { page } = await signIn(key.body.token)
    for (let time = 0; time < 3; time += 1) expect((await page('GET', CONTACTS)).status).toBe(200)
    const [{ id }] = await db<[{ id: number }]>`select max(id) as id from console_sessions`
    let left = 0
    for (let time = 0; time < 600; time += 1)
      left = Number((await page('GET', '/session')).headers['x-ratelimit-remaining'])
    expect([left, (await page('GET', CONTACTS)).status, id > 0]).toEqual([0, 429, true])
    expect((await send('GET', CONTACTS, { authorization: `Bearer ${key.body.token}` })).status).toBe(200)
  })

  test('the sessions of a company share a limit, which the operator changes; another company has its own', async () => {
    const [shared, other] = [await createCompany({ isConnected: false }), await createCompany({ isConnected: false })]
    await operator('PATCH', `/companies/${shared.companyId}`, { sessionRateLimitPerMinute: 6 })
    const sessions = [await signIn(shared.key.token), await signIn(shared.key.token)]
    const statuses: number[] = []
    for (let n = 0; n < 8; n += 1) statuses.push((await sessions[n % 2]!.page('GET', '/session')).status)
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 429, 429])
    const over = await sessions[0]!.page('GET', CONTACTS)
    expect([over.status, Number(over.headers['retry-after'])]).toEqual([429, expect.any(Number)])
    expect((await (await signIn(other.key.token)).page('GET', '/session')).status).toBe(200)
  })

  test('a session needs a role of the route', async () => {
    const { body: link } = await operator('POST', `/companies/${own.companyId}/sign-in-links`, { name: 'Mara' })
    const { page } = await signIn(service.codeOf(link.url))
    for (const [method, path, roles] of [
      ['GET', '/public/v1/webhooks/registrations', 'developer or admin'],
      ['GET', '/public/v1/contacts/export', 'admin'],
      ['GET', '/sessions', 'admin'],
    ] as const) {
      const answer = await page(method, path)
      expect([answer.status, answer.body.error?.message]).toEqual([403, `The session needs the role ${roles}`])
    }
  })

  test.each([
    '/',
    '/x',
    '/public',
    '/public/v2/contacts',
    '/docs',
    '/metrics',
    '/as/1/admin/v1/companies',
    '/as/1',
  ])('%s is not found', async (path) => expect((await operatorPage('GET', path)).status).toBe(404))

  test('addresses that take no API key are not found', async () => {
    expect((await agent.page('POST', '/public/v1/webhooks/whatsapp', {})).status).toBe(404)
    expect((await operatorPage('GET', '/public/v1/webhooks/whatsapp')).status).toBe(404)
  })
})

describe('the operator', () => {
  test('uses the operator’s API, and a company does not', async () => {
    const companies = await operatorPage('GET', '/admin/v1/companies')
    expect(companies.body.map(({ id }: { id: number }) => id)).toContain(own.companyId)
    const refused = await agent.page('GET', '/admin/v1/companies')
    expect([refused.status, refused.text]).toEqual([403, expect.not.stringContaining('Acme')])
    expect((await agent.page('GET', '/admin/v1/nothing')).status).toBe(404)
  })

  test('acts for a company that the address names, and the log says so', async () => {
    const list = await operatorPage('GET', `/as/${other.companyId}${CONTACTS}`)
    expect(list.body.data.map(({ id }: { id: number }) => id)).toEqual([foreignContact])
    await eventually(async () => lines.some(({ msg }) => msg === 'operator.acted'))
    expect(lines.find(({ msg }) => msg === 'operator.acted')).toMatchObject({
      companyId: other.companyId,
      name: 'Operator',
      method: 'GET',
      route: CONTACTS,
      sessionId: expect.any(Number),
    })
  })

  test('acts for no company without naming one, and for none that does not exist', async () => {
    expect((await operatorPage('GET', CONTACTS)).status).toBe(403)
    for (const id of ['987654321', 'x', '0', '1e3', '%31x']) {
      const answer = await operatorPage('GET', `/as/${id}${CONTACTS}`)
      expect([answer.status, answer.body]).toEqual([404, { message: 'Company not found' }])
    }
  })

  test('alone acts for companies: a session of one gets the same answer for each', async () => {
    const answers = []
    for (const id of [own.companyId, other.companyId, 987_654_321])
      answers.push(await agent.page('GET', `/as/${id}${CONTACTS}`))
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(answers[0]!.status).toBe(403)
  })
})

test('while a company is being moved, its sessions and operators who act for it get 503', async () => {
  const moved = await createCompany({ isConnected: false })
  const { page } = await signIn(moved.key.token)
  const asks = [() => page('GET', CONTACTS), () => operatorPage('GET', `/as/${moved.companyId}${CONTACTS}`)]
  for (const ask of asks) expect((await ask()).status).toBe(200)
  await db`update companies set closed_at = now() where id = ${moved.companyId}`
  await eventually(async () => {
    const answers = await Promise.all(asks.map((ask) => ask()))
    return answers.every(({ status }) => status === 503)
  }, 5_000)
  expect((await page('GET', CONTACTS)).headers['retry-after']).toBe('30')
  expect((await page('GET', '/session')).body.company).toEqual({ id: moved.companyId, name: 'Acme' })
  expect((await agent.page('GET', CONTACTS)).status).toBe(200)
})

describe('the cookie', () => {
  test('means nothing outside of the prefix', async () => {
    const headers = asPage('GET', undefined, agent.cookie)
    for (const path of ['/public/v1/me', CONTACTS, '/admin/v1/companies', '/api/transactionals']) {
      expect([path, (await send('GET', path, headers)).status]).toEqual([path, path.startsWith('/api') ? 410 : 401])
    }
  })

  test('alone counts below the prefix: keys and tokens mean nothing there', async () => {
    const authorization = `Bearer ${own.key.token}`
    for (const path of [CONTACTS, '/admin/v1/companies', '/session']) {
      expect((await send('GET', `/console/api${path}`, { ...asPage('GET', undefined), authorization })).status).toBe(
        401,
      )
    }
  })

  test.each([
    '',
    'parley=',
    'parley=short',
    `parley=${'a'.repeat(43)}`,
    `parley=${'ä'.repeat(43)}`,
    `__Secure-parley=x`,
    ';;;=;',
  ])('that is %j is no session', async (cookie) =>
    expect((await send('GET', '/console/api/session', asPage('GET', undefined, cookie))).status).toBe(401))
})
