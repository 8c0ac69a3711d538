import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { startConsole } from '../../../test/console/world/console-client.ts'
import { eventually } from '../../../test/service.ts'

const lines: Record<string, unknown>[] = []
const service = await startConsole({ onLog: (line) => lines.push(line) })
const { db, createCompany, operator, send, asPage, signIn, origin } = service
const [own, other] = [await createCompany(), await createCompany()]
const agent = await signIn(own.key.token)
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

const [ownContact] = [await contact('own'), await contact('foreign')]

describe('a request that another site makes is answered 403 and changes nothing', () => {
  const FORGERIES: [string, Record<string, string | undefined>][] = [
    ['from another site', { 'sec-fetch-site': 'cross-site' }],
    ['from another port of the same host', { 'sec-fetch-site': 'same-site' }],
    ['typed into the address bar', { 'sec-fetch-site': 'none' }],
    ['without Sec-Fetch-Site', { 'sec-fetch-site': undefined }],
    ['under another host name', { host: 'evil.example' }],
    ['under another port', { host: '127.0.0.1:1' }],
    ['with userinfo in the host', { host: `x@${new URL(origin).host}` }],
  ]
  const OF_CHANGES: typeof FORGERIES = [
    ['with a foreign Origin', { origin: 'https://evil.example' }],
    ['with the Origin null', { origin: 'null' }],
    ['without Origin', { origin: undefined }],
    ['as a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['as a multipart form', { 'content-type': 'multipart/form-data; boundary=x' }],
    ['as plain text', { 'content-type': 'text/plain' }],
    ['without Content-Type', { 'content-type': undefined }],
  ]
  const CHANGES: [string, string, unknown][] = [
    ['POST', CONTACTS, { email: 'forged@example.com' }],
    ['PUT', `${CONTACTS}/${ownContact}`, { firstName: 'Forged' }],
    ['DELETE', `${CONTACTS}/${ownContact}`, {}],
    ['DELETE', '/session', {}],
    ['POST', '/session', { token: own.key.token }],
  ]

  test.each([...FORGERIES, ...OF_CHANGES])('%s', async (_, headers) => {
    const state = async () => [
      await db`select id, email, first_name, deleted_at from contacts order by id`,
      await db`select id from console_sessions order by id`,
    ]
    const before = await state()
    for (const [method, path, body] of CHANGES) {
      const answer = await send(
        method,
        `/console/api${path}`,
        { ...asPage(method, body, agent.cookie), ...headers },
        body,
      )
      expect([method, path, answer.status, answer.headers['set-cookie']]).toEqual([method, path, 403, undefined])
    }
    expect(await state()).toEqual(before)
  })

  test.each(FORGERIES)('%s, also when it reads', async (_, headers) => {
    for (const path of [CONTACTS, '/session', '/sessions', '/admin/v1/companies']) {
      const answer = await send('GET', `/console/api${path}`, { ...asPage('GET', undefined, agent.cookie), ...headers })
      expect([path, answer.status]).toEqual([path, 403])
    }
  })

  test('at every operation that changes data', async () => {
    const { paths } = JSON.parse(readFileSync(new URL('../../../openapi.json', import.meta.url), 'utf8'))
    const changes = Object.entries<object>(paths).flatMap(([path, methods]) =>
      /^\/(public|admin)\/v1\//.test(path)
        ? Object.keys(methods).flatMap((method) => (method === 'get' ? [] : [[method.toUpperCase(), path] as const]))
        : [],
    )
    expect(changes.length).toBeGreaterThan(30)
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    for (const [method, path] of changes) {
      const place = `/console/api${path.replaceAll(/\{\w+\}/g, '1')}`
      for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }, form]) {
        const answer = await send(method, place, { ...asPage(method, {}, agent.cookie), ...headers }, {})
        expect([method, path, answer.status, answer.body.error.code]).toEqual([method, path, 403, 'forbidden'])
        expect(answer.body.error.message).toContain('Only pages of the console')
      }
    }
  })

  test('control: the same requests from a page of the console make the change', async () => {
    const statuses = []
    for (const [method, path, body] of CHANGES.slice(0, 2)) statuses.push((await agent.page(method, path, body)).status)
    expect(statuses).toEqual([200, 200])
    const csv = await agent.page('POST', '/public/v1/contacts/import', 'email\nlist@example.com\n', {
      'content-type': 'text/csv',
    })
    expect(csv.status, csv.text).toBe(202)
    const gone = await send(
      'DELETE',
      `/console/api${CONTACTS}/${ownContact}`,
      asPage('DELETE', undefined, agent.cookie),
    )
    expect(gone.status).toBe(200)
  })

  test('preflights are refused, also for an origin that a key lists', async () => {
    await operator('POST', `/companies/${own.companyId}/api-keys`, {
      name: 'Browser',
      permissions: ['ContactsUpsert'],
      allowedOrigins: ['https://shop.example'],
    })
    const ask = (path: string) =>
      send('OPTIONS', path, { origin: 'https://shop.example', 'access-control-request-method': 'POST' })
    await eventually(async () => (await ask(CONTACTS)).status === 204)
    for (const path of [`/console/api${CONTACTS}`, '/console/api/session', '/console/']) {
      const answer = await ask(path)
      expect([path, answer.status, answer.headers['access-control-allow-origin']]).toEqual([path, 403, undefined])
    }
  })
})
