import { describe, expect, onTestFinished, test } from 'vitest'
import { startConsole } from '../../test/console/world/console-client.ts'
import { expireTable } from '../../test/lifetimes.ts'
import { eventually } from '../../test/service.ts'
import { createSessions } from './session.ts'

const lines: Record<string, unknown>[] = []
const service = await startConsole({ onLog: (line) => lines.push(line) })
const { db, deps, createCompany, operator, signIn, signInAsOperator, page, codeOf } = service

const createKey = async (companyId: number, input: object = {}) =>
  (await operator('POST', `/companies/${companyId}/api-keys`, { name: 'Key', permissions: ['WhatsApp'], ...input }))
    .body

const createLink = async (companyId: number, input: object = {}) =>
  (await operator('POST', `/companies/${companyId}/sign-in-links`, { name: 'Mara', ...input })).body

const company = await createCompany({ isConnected: false })

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
    await db`update console_sessions set seen_at = now() - interval '2 minutes', idle_until = now() + interval '9 minutes' where id = ${id}`
    expect(await sessions.isLive(cookie)).toBe(true)
    expect(await idle()).toBeLessThan(541)
    await sessions.use(cookie)
    expect(await idle()).toBeGreaterThan(3_500)
    await db`
      update console_sessions
      set seen_at = now() - interval '2 minutes', ends_at = now() + interval '20 minutes'
      where id = ${id}`
    await createSessions({ ...deps, db }).use(cookie)
    expect(await idle()).toBeLessThan(1_201)
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
