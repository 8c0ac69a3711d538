import { describe, expect, onTestFinished, test } from 'vitest'
import { ADMIN_TOKEN } from '../../test/api.ts'
import { startConsole } from '../../test/console/world/console-client.ts'
import { expireTable } from '../../test/lifetimes.ts'
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

describe('a session ends', () => {
  const ended = async (ask: ReturnType<typeof page>) =>
    eventually(async () => (await ask('GET', '/session')).status === 401, 5_000)

  test('by signing out, which takes the cookie away', async () => {
    const { page } = await signIn((await createKey(company.companyId)).token)
    const { status, headers } = await page('DELETE', '/session', undefined, { 'content-type': undefined })
    expect([status, headers['set-cookie']]).toEqual([
      200,
      [
        'parley=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax',
        'parley=; Max-Age=0; Path=/console; HttpOnly; SameSite=Lax',
      ],
    ])
    expect((await page('GET', '/session')).status).toBe(401)
  })

  test('within 5 seconds of the revocation of its key, also in another process', async () => {
    const key = await createKey(company.companyId)
    const { page } = await signIn(key.token)
    expect((await page('GET', '/session')).status).toBe(200)
    // Ends it like another process: this one can learn it only from the database.
    await db`update api_keys set revoked_at = now() where client_id = ${key.clientId}`
    await ended(page)
  })

  test('at once when its key is revoked in this process', async () => {
    const key = await createKey(company.companyId)
    const { page } = await signIn(key.token)
    await operator('DELETE', `/companies/${company.companyId}/api-keys/${key.clientId}`)
    expect((await page('GET', '/session')).status).toBe(401)
  })

  test('with the key that created its link', async () => {
    const key = await createKey(company.companyId)
    const headers = { authorization: `Bearer ${key.token}` }
    const link = await service.call(service.url, 'POST', '/public/v1/console/sign-in-links', { name: 'Mara' }, headers)
    const { page } = await signIn(codeOf(link.body.url))
    await operator('DELETE', `/companies/${company.companyId}/api-keys/${key.clientId}`)
    expect((await page('GET', '/session')).status).toBe(401)
  })

  test('with its company', async () => {
    const other = await createCompany({ isConnected: false })
    const { page } = await signIn(other.key.token)
    await operator('DELETE', `/companies/${other.companyId}`)
    await ended(page)
  })

  test('when the operator’s token changes', async () => {
    const { url } = await createLink(company.companyId)
    const cookies = [(await signIn(codeOf(url))).cookie, (await signInAsOperator()).cookie]
    const config = { ...deps.config, adminToken: 'another-token-of-the-operator-0123456' }
    const [now, then] = [createSessions({ ...deps, db }), createSessions({ ...deps, db, config })]
    for (const cookie of cookies) {
      expect(await now.isLive(cookie)).toBe(true)
      expect(await then.isLive(cookie)).toBe(false)
    }
  })

  test('when it was not used for its time, and use moves that time up to its end', async () => {
    const { page, cookie } = await signInAsOperator()
    const sessions = createSessions({ ...deps, db })
    const [{ id }] = await db<[{ id: number }]>`select id from console_sessions order by id desc limit 1`
    const idle = async () =>
      (
        await db<[{ idle: number }]>`
        select extract(epoch from idle_until - now())::int as idle from console_sessions where id = ${id}`
      )[0].idle
    await db`update console_sessions set seen_at = now() - interval '2 minutes', idle_until = now() + interval '9 seconds' where id = ${id}`
    expect(await sessions.isLive(cookie)).toBe(true)
    expect(await idle()).toBeLessThan(10)
    await sessions.use(cookie)
    expect(await idle()).toBeGreaterThan(3_500)
    await db`
      update console_sessions
      set seen_at = now() - interval '2 minutes', ends_at = now() + interval '20 seconds'
      where id = ${id}`
    await createSessions({ ...deps, db }).use(cookie)
    expect(await idle()).toBeLessThan(21)
    await db`update console_sessions set idle_until = now() where id = ${id}`
    await ended(page)
  })
})

describe('the sessions of a company', () => {
  test('are listed and ended by admins, and those of another company are not found', async () => {
    const [own, other] = [await createCompany({ isConnected: false }), await createCompany({ isConnected: false })]
    const first = await signIn(own.key.token)
    const second = await signIn(codeOf((await createLink(own.companyId, { role: 'admin' })).url))
    const foreign = await signIn(other.key.token)
    const { data, nextBefore } = (await second.page('GET', '/sessions')).body
    expect(nextBefore).toBeNull()
    expect(data).toMatchObject([
      { kind: 'company', name: 'Mara', role: 'admin', isCurrent: true, company: { id: own.companyId }, agent: '' },
      { name: 'Shop key', isCurrent: false },
    ])
    const [{ id: foreignId }] = (await foreign.page('GET', '/sessions')).body.data
    const [answer, missing] = [
      await second.page('DELETE', `/sessions/${foreignId}`),
      await second.page('DELETE', '/sessions/987654321012'),
    ]
    expect([answer.status, answer.text]).toEqual([404, missing.text])
    expect((await foreign.page('GET', '/session')).status).toBe(200)
    expect((await second.page('DELETE', `/sessions/${data[1].id}`)).status).toBe(200)
    expect((await first.page('GET', '/session')).status).toBe(401)
  })

  test('are all listed for the operator, who can end any', async () => {
    const own = await createCompany({ isConnected: false })
    const { page: ofCompany } = await signIn(own.key.token)
    const { page: ofOperator } = await signInAsOperator()
    const [, entry] = (await ofOperator('GET', '/sessions?limit=2')).body.data
    expect(entry).toMatchObject({ kind: 'company', company: { id: own.companyId } })
    const next = (await ofOperator('GET', `/sessions?limit=1&before=${entry.id}`)).body
    expect(next.data[0].id).toBeLessThan(entry.id)
    expect((await ofOperator('DELETE', `/sessions/${entry.id}`)).status).toBe(200)
    expect((await ofCompany('GET', '/session')).status).toBe(401)
  })

  test('are 1,000 at most: a further sign-in ends the oldest', async () => {
    const own = await createCompany({ isConnected: false })
    const { page: oldest } = await signIn(own.key.token)
    await db`
      insert into console_sessions (digest, company_id, client_id, name, permissions, agent, idle_until, ends_at)
      select sha256(n::text::bytea), ${own.companyId}, ${own.key.clientId}, 'n', '{}', '', now() + interval '1 day', now() + interval '1 day'
      from generate_series(1, 999) n`
    const { page: newest } = await signIn(own.key.token)
    expect((await newest('GET', '/session')).status).toBe(200)
    await eventually(async () => (await oldest('GET', '/session')).status === 401, 5_000)
    expect(await db`select from console_sessions where company_id = ${own.companyId}`).toHaveLength(1_000)
  })
})

describe('a sign-in link', () => {
  const create = (token: string, body: object) =>
    service.call(service.url, 'POST', '/public/v1/console/sign-in-links', body, { authorization: `Bearer ${token}` })

  test('of an API key has at most the permissions of the key', async () => {
    const key = await createKey(company.companyId, { permissions: ['Transactional', 'ContactsUpsert'] })
    const { body } = await create(key.token, {
      name: 'Mara',
      permissions: ['WhatsApp', 'transactional', 'ContactsUpsert'],
    })
    expect(body.error.details.fields.map(({ path }: { path: string }) => path)).toEqual([
      'permissions[0]',
      'permissions[2]',
    ])
    const { status, body: link } = await create(key.token, { name: ' Mara ', path: '/console/inbox' })
    expect(status).toBe(201)
    const { session } = await signIn(codeOf(link.url))
    expect(session).toMatchObject({ name: 'Mara', permissions: ['Transactional'] })
  })

  test.each([undefined, 'agent', 'developer', 'admin'])('with the role %s gives a session that role', async (role) => {
    const { body: link } = await create(company.key.token, { name: 'Mara', ...(role && { role }) })
    expect((await signIn(codeOf(link.url))).session.role).toBe(role ?? 'agent')
  })

  test('of an admin’s session ends with the credential of that session', async () => {
    const key = await createKey(company.companyId)
    const { page: admin } = await signIn(key.token)
    const created = await admin('POST', '/public/v1/console/sign-in-links', { name: 'Noa', role: 'developer' })
    expect(created.status).toBe(201)
    const { session, page } = await signIn(codeOf(created.body.url))
    expect(session).toMatchObject({ name: 'Noa', role: 'developer', permissions: ['WhatsApp'] })
    await operator('DELETE', `/companies/${company.companyId}/api-keys/${key.clientId}`)
    expect((await page('GET', '/session')).status).toBe(401)
  })

  test.each([
    [{}, 400, 'name'],
    [{ name: 'Mara', role: 'owner' }, 422, 'role'],
    [{ name: '  ' }, 422, 'name'],
    [{ name: 'a\nb' }, 422, 'name'],
    [{ name: 'x'.repeat(201) }, 422, 'name'],
    [{ name: 'Mara', expiresInSeconds: 86_401 }, 422, 'expiresInSeconds'],
    [{ name: 'Mara', expiresInSeconds: 1 }, 422, 'expiresInSeconds'],
    [{ name: 'Mara', permissions: [] }, 422, 'permissions'],
    [{ name: 'Mara', path: 'https://evil.example/' }, 422, 'path'],
    [{ name: 'Mara', path: '/console/#code=other' }, 422, 'path'],
    [{ name: 'Mara', path: '/console/../docs' }, 422, 'path'],
    [{ name: 'Mara', path: '/console/a/../../docs' }, 422, 'path'],
    [{ name: 'Mara', path: '/console/%2e%2e/docs' }, 422, 'path'],
    [{ name: 'Mara', path: '/console/..\\docs' }, 422, 'path'],
    [{ name: 'Mara', path: '/console/inbox/8?q=..' }, 201, undefined],
  ])('with the body %j is answered %i', async (body, status, path) => {
    const answer = await create(company.key.token, body)
    expect([answer.status, answer.body.error?.details.fields[0].path]).toEqual([status, path])
  })

  test('is created once for an Idempotency-Key', async () => {
    const headers = { authorization: `Bearer ${company.key.token}`, 'idempotency-key': 'link' }
    const ask = () => service.call(service.url, 'POST', '/public/v1/console/sign-in-links', { name: 'Mara' }, headers)
    const [first, second] = [await ask(), await ask()]
    expect(second.body).toEqual(first.body)
  })

  test('of a company that does not exist is 404', async () => {
    for (const id of ['987654321', 'x', '0']) {
      const answer = await operator('POST', `/companies/${id}/sign-in-links`, { name: 'Mara' })
      expect([answer.status, answer.body]).toEqual([404, { message: 'Company not found' }])
    }
  })

  test('is one of 1,000 at most that wait to be used', async () => {
    const own = await createCompany({ isConnected: false })
    await db`
      insert into sign_in_links (digest, company_id, client_id, name, permissions, expires_at)
      select sha256(('link' || n)::bytea), ${own.companyId}, '', 'n', '{}', now() + interval '1 day' from generate_series(1, 1000) n`
    expect((await create(own.key.token, { name: 'Mara' })).status).toBe(429)
    await db`update sign_in_links set expires_at = now() where company_id = ${own.companyId}`
    expect((await create(own.key.token, { name: 'Mara' })).status).toBe(201)
  })
})

test('sessions that have ended or expired are deleted, and no others', async () => {
  const own = await createCompany({ isConnected: false })
  await signIn(own.key.token)
  await signIn(own.key.token)
  for (const name of ['stays', 'goes']) await createLink(own.companyId, { name })
  await db`
    update console_sessions set idle_until = now()
    where id = (select max(id) from console_sessions where company_id = ${own.companyId})`
  await db`update sign_in_links set expires_at = now() where company_id = ${own.companyId} and name = 'goes'`
  const left = async (table: string) => {
    await expireTable(db, table)
    return (await db`select from ${db(table)} where company_id = ${own.companyId}`).length
  }
  // A concurrent sweep can hold a row, which is then skipped.
  await eventually(async () => (await left('console_sessions')) === 1 && (await left('sign_in_links')) === 1)
  const links = await db`select name from sign_in_links where company_id = ${own.companyId}`
  expect(links).toEqual([{ name: 'stays' }])
})

test('without the console its addresses and prefix are unknown', async () => {
  const off = await startConsole({ config: { console: false } })
  onTestFinished(() => off.app.close())
  for (const path of [
    '/console/api/session',
    '/console/api/public/v1/contacts',
    '/console/',
    '/public/v1/console/sign-in-links',
  ]) {
    expect([path, (await off.send('GET', path, off.asPage('GET', undefined))).status]).toEqual([path, 404])
  }
})
