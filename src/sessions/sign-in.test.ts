import { describe, expect, test } from 'vitest'
import { ADMIN_TOKEN } from '../../test/api.ts'
import { startConsole } from '../../test/console/world/console-client.ts'
import { eventually } from '../../test/service.ts'
import { createSessions } from './session.ts'

const lines: Record<string, unknown>[] = []
const service = await startConsole({ onLog: (line) => lines.push(line) })
const { db, deps, createCompany, operator, attempt, signIn, signInAsOperator, page, codeOf } = service

const createKey = async (companyId: number, input: object = {}) =>
  (await operator('POST', `/companies/${companyId}/api-keys`, { name: 'Key', permissions: ['WhatsApp'], ...input }))
    .body

const createLink = async (companyId: number, input: object = {}) =>
  (await operator('POST', `/companies/${companyId}/sign-in-links`, { name: 'Mara', ...input })).body

const company = await createCompany({ isConnected: false })

const REFUSED = {
  error: { code: 'unauthorized', message: 'The key or link is not valid, or not valid any more' },
}

describe('signing in', () => {
  test('with an API key begins a session of its company with its name and permissions', async () => {
    const key = await createKey(company.companyId, { name: 'Shop', permissions: ['Transactional', 'ContactsUpsert'] })
    const { session, page } = await signIn(key.token)
    expect(session).toEqual({
      kind: 'company',
      name: 'Shop',
      company: { id: company.companyId, name: 'Acme' },
      permissions: ['Transactional'],
      role: 'admin',
      mayErase: true,
      endsAt: expect.any(String),
      features: {
        sandboxUrl: null,
        sessionWindow: 'strict',
        marketingWindow: 'strict',
        serviceName: 'Service',
      },
    })
    expect((await page('GET', '/session')).body).toEqual(session)
    expect(new Date(session.endsAt).getTime()).toBeCloseTo(Date.now() + 7 * 24 * 3_600_000, -6)
  })

  test('with the operator’s token begins a session of the operator, for 12 hours at most', async () => {
    const { session } = await signInAsOperator()
    expect(session).toMatchObject({ kind: 'operator', name: 'Operator', company: null, permissions: [] })
    expect(new Date(session.endsAt).getTime()).toBeCloseTo(Date.now() + 12 * 3_600_000, -6)
  })

  test('with a link begins a session of the named person, once', async () => {
    const { url, expiresAt } = await createLink(company.companyId, {
      permissions: ['whatsapp'],
      path: '/console/inbox/8',
    })
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/console\/inbox\/8#code=[A-Za-z0-9]{43}$/)
    expect(new Date(expiresAt).getTime()).toBeCloseTo(Date.now() + 600_000, -5)
    const { session } = await signIn(codeOf(url))
    expect(session).toMatchObject({ kind: 'company', name: 'Mara', permissions: ['WhatsApp'] })
    expect((await attempt(codeOf(url))).body).toEqual(REFUSED)
  })

  test('with a link in a browser that is signed in is 409 and names both, until the user agrees', async () => {
    const other = (await operator('POST', '/companies', { name: 'Stranger' })).body
    const { page } = await signIn(codeOf((await createLink(company.companyId)).url))
    const token = codeOf((await createLink(other.id, { name: 'Eve' })).url)
    const asked = await page('POST', '/session', { token })
    expect([asked.status, asked.headers['set-cookie']]).toEqual([409, undefined])
    expect(asked.body.error).toMatchObject({
      code: 'session_exists',
      details: {
        current: { name: 'Mara', company: { id: company.companyId, name: 'Acme' } },
        offered: { name: 'Eve', company: { id: other.id, name: 'Stranger' } },
      },
    })
    expect((await page('GET', '/session')).body.company.name).toBe('Acme')
    const agreed = await page('POST', '/session', { token, replace: true })
    expect([agreed.status, agreed.body.company.name]).toEqual([200, 'Stranger'])
    expect((await page('GET', '/session')).status).toBe(401)
  })

  test('with a link that is used up or wrong is 401, signed in or not', async () => {
    const { page } = await signIn(codeOf((await createLink(company.companyId)).url))
    const { url } = await createLink(company.companyId)
    await attempt(codeOf(url))
    for (const token of [codeOf(url), 'wrong'])
      expect((await page('POST', '/session', { token })).body).toEqual(REFUSED)
    expect((await page('GET', '/session')).status).toBe(200)
  })

  test('of many attempts with one link at once, one succeeds', async () => {
    const { url } = await createLink(company.companyId)
    const answers = await Promise.all(Array.from({ length: 8 }, () => attempt(codeOf(url))))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401, 401, 401, 401, 401])
  })

  test('gives a cookie that scripts cannot read, and takes the one of earlier versions away', async () => {
    const cookies = [(await attempt(ADMIN_TOKEN)).headers['set-cookie']].flat()
    expect(cookies).toEqual([
      expect.stringMatching(/^parley=[A-Za-z0-9]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Lax$/),
      'parley=; Max-Age=0; Path=/console; HttpOnly; SameSite=Lax',
    ])
  })

  test('fails in one way and with equal work, whatever the reason', async () => {
    const [browser, revoked, expired, orphan] = [
      await createKey(company.companyId, { permissions: ['ContactsUpsert'] }),
      await createKey(company.companyId),
      await createKey(company.companyId),
      await createKey(company.companyId),
    ]
    const link = await createLink(company.companyId)
    await db`update sign_in_links set expires_at = now() - interval '1 second'`
    const ofKey = await service.call(
      service.url,
      'POST',
      '/public/v1/console/sign-in-links',
      { name: 'Mara' },
      {
        authorization: `Bearer ${orphan.token}`,
      },
    )
    await operator('DELETE', `/companies/${company.companyId}/api-keys/${revoked.clientId}`)
    await operator('DELETE', `/companies/${company.companyId}/api-keys/${orphan.clientId}`)
    await db`update api_keys set expires_at = now() - interval '1 second' where client_id = ${expired.clientId}`
    const tokens = [
      'wrong',
      `${expired.token.slice(0, -1)}_`,
      `${ADMIN_TOKEN}x`,
      'PARLEY-aaaaaaaaaaaaaaaa-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
      browser.token,
      revoked.token,
      expired.token,
      codeOf(link.url),
      codeOf(ofKey.body.url),
    ]
    const answers = []
    for (const token of tokens) {
      const { status, body, headers } = await attempt(token)
      answers.push({ status, body, names: Object.keys(headers).sort() })
    }
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
    expect(answers[0]).toMatchObject({ status: 401, body: REFUSED })
    expect(answers[0]!.names).not.toContain('set-cookie')

    const work = await Promise.all(tokens.map((token) => statementsOf(token)))
    expect(new Set(work)).toEqual(new Set([3]))
  })

  test('is refused after 10 attempts of one address in a minute', async () => {
    const statuses = []
    for (let time = 0; time < 11; time += 1) statuses.push((await attempt('wrong', '127.0.0.9')).status)
    expect(statuses).toEqual([...Array(10).fill(401), 429])
    const { status, headers } = await attempt(ADMIN_TOKEN, '127.0.0.9')
    expect([status, headers['retry-after']]).toEqual([429, expect.stringMatching(/^\d+$/)])
  })

  test('takes a token of 512 characters, and refuses more by name', async () => {
    expect((await attempt('x'.repeat(512))).status).toBe(401)
    expect((await attempt('x'.repeat(513))).body.error.details.fields[0].path).toBe('token')
  })

  test('is logged with the client’s address, and no token is', async () => {
    const key = await createKey(company.companyId, { name: 'Logged' })
    await signIn(key.token)
    await attempt('a-wrong-token-to-look-for')
    await eventually(async () => lines.some(({ msg }) => msg === 'console.sign_in_refused'))
    expect(lines.find(({ msg, name }) => msg === 'console.signed_in' && name === 'Logged')).toMatchObject({
      companyId: company.companyId,
      address: expect.stringMatching(/^127\.0\.0\.\d+$/),
    })
    const text = JSON.stringify(lines)
    expect(text).not.toContain('a-wrong-token-to-look-for')
    expect(text).not.toContain(key.token)
  })
})

/** Counts the statements of a sign-in attempt with empty caches. */
async function statementsOf(token: string): Promise<number> {
  let count = 0
  const counting = db.gated(() => (start) => {
    count += 1
    return start()
  })
  const sessions = createSessions({ ...deps, db: counting, apiKeys: { findCaller: deps.apiKeys.findCaller } })
  const before = count
  await sessions.signIn(token, { agent: '' }).catch(() => {})
  // API keys use a separate pool.
  return count - before + 1
}

test('a key has five sessions at a time: a sixth sign-in ends the oldest, and sessions of its links stay', async () => {
  const own = await createCompany({ isConnected: false })
  const key = await createKey(own.companyId)
  const sessions = [await signIn(key.token)]
  const { body } = await sessions[0]!.page('POST', '/public/v1/console/sign-in-links', { name: 'Mara' })
  const person = await signIn(codeOf(body.url))
  for (let n = 0; n < 5; n += 1) sessions.push(await signIn(key.token))
  const statusOf = async ({ page }: (typeof sessions)[number]) => (await page('GET', '/session')).status
  expect(await Promise.all(sessions.map(statusOf))).toEqual([401, 200, 200, 200, 200, 200])
  expect(await statusOf(person)).toBe(200)
})

test('a browser that sends two session cookies is signed out with a sentence, never in as either', async () => {
  const [own, other] = [await createCompany({ isConnected: false }), await createCompany({ isConnected: false })]
  const [one, two] = [await signIn(own.key.token), await signIn(other.key.token)]
  for (const cookie of [`${one.cookie}; ${two.cookie}`, `${two.cookie}; ${one.cookie}`, `${one.cookie}; parley=`]) {
    for (const path of ['/session', '/public/v1/contacts']) {
      const answer = await page(cookie)('GET', path)
      expect([answer.status, answer.body.error]).toEqual([
        401,
        expect.objectContaining({
          message: expect.stringContaining('several session cookies'),
          details: { hasSeveralCookies: true },
        }),
      ])
    }
  }
  expect((await one.page('GET', '/session')).body.company.id).toBe(own.companyId)
})
