import { describe, expect, test } from 'vitest'
import { startConsole } from '../../test/console/world/console-client.ts'

const lines: Record<string, unknown>[] = []
const service = await startConsole({ onLog: (line) => lines.push(line) })
const { db, createCompany, operator, signIn, codeOf } = service

const createKey = async (companyId: number, input: object = {}) =>
  (await operator('POST', `/companies/${companyId}/api-keys`, { name: 'Key', permissions: ['WhatsApp'], ...input }))
    .body

const company = await createCompany({ isConnected: false })

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
