import { request as httpRequest } from 'node:http'
import { describe, expect, test } from 'vitest'
import { fixedClock } from '../../src/platform/clock.ts'
import { eventually, startTestService, uniquePhone } from '../service.ts'

const clock = fixedClock('2026-11-21T12:00:00Z')
const service = await startTestService({ mirrors: true, clock })
const { url } = service

/** A request with a host name, a method and bytes of one's own. */
function raw(method: string, path: string, headers: Record<string, string> = {}, body?: string, base = url) {
  return new Promise<{ status: number; headers: Record<string, unknown>; text: string }>((resolve, reject) => {
    const asked = httpRequest(`${base}${path}`, { method, headers }, (answer) => {
      let text = ''
      answer.on('data', (chunk) => {
        text += chunk
      })
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }))
    })
    asked.on('error', reject)
    asked.end(body)
  })
}

describe('before the removal date', () => {
  const before = fixedClock('2026-05-31T23:59:59Z')
  const old = startTestService({ mirrors: true, clock: before })

  async function createMailing() {
    const { createCompany, operator } = await old
    const company = await createCompany({ isConnected: false })
    await operator('PUT', `/companies/${company.companyId}/email-settings`, { from: 'shop@example.org' })
    const template = await operator('POST', `/companies/${company.companyId}/email-templates`, {
      name: 'Order update',
      subject: 'Order {{ ORDER }}',
      html: '<p>{{ name }}</p>',
    })
    const api = async (method: string, path: string, headers: Record<string, string> = {}, body?: string) =>
      raw(method, path, { authorization: `Bearer ${company.key.token}`, ...headers }, body, (await old).url)
    return { ...company, legacy: api, uid: template.body.id as string }
  }
  const warning = (migrateTo: string) => ({
    message: expect.stringContaining(migrateTo),
    deprecationDate: '2026-06-01',
    migrateTo,
    docsUrl: expect.stringMatching(/\/docs$/),
  })
  const encodings: [name: string, contentType: string, encode: (uid: string, to: string) => string][] = [
    [
      'JSON',
      'application/json',
      (uid, recipient) => JSON.stringify({ uid, recipient, customFields: { ORDER: '17', name: 'A & B' } }),
    ],
    [
      'urlencoded',
      'application/x-www-form-urlencoded',
      (uid, recipient) =>
        new URLSearchParams({ uid, recipient, 'customFields.ORDER': '17', 'customFields.name': 'A & B' }).toString(),
    ],
    [
      'multipart',
      'multipart/form-data; boundary=frontier',
      (uid, recipient) =>
        `${Object.entries({ uid, recipient, 'customFields.ORDER': '17', 'customFields.name': 'A & B' })
          .map(([name, value]) => `--frontier\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
          .join('')}--frontier--\r\n`,
    ],
  ]

  test.each(encodings)('a template email is sent, as %s', async (name, contentType, encode) => {
    const { legacy, uid } = await createMailing()
    const to = `${name.toLowerCase()}@example.com`
    const answer = await legacy('POST', '/api/transactionals', { 'content-type': contentType }, encode(uid, to))
    expect(answer.status).toBe(200)
    expect(JSON.parse(answer.text)).toEqual({ status: 200, warning: warning('/public/v1/templates/email/send') })
    expect(answer.headers).toMatchObject({
      deprecation: '@1761955200',
      sunset: 'Mon, 01 Jun 2026 00:00:00 GMT',
      link: '</public/v1/templates/email/send>; rel="successor-version"',
    })
    const mail = await eventually(async () => {
      const { body } = await (await old).control('GET', '/emails')
      return body.find((one: { to: string }) => one.to === to)
    })
    expect(mail).toMatchObject({ subject: 'Order 17', html: expect.stringContaining('<p>A &amp; B</p>') })
  })

  test.each(encodings)('without a recipient it is refused, as %s', async (_name, contentType, encode) => {
    const { legacy, uid } = await createMailing()
    const answer = await legacy('POST', '/api/transactionals', { 'content-type': contentType }, encode(uid, ''))
    expect([answer.status, answer.text]).toEqual([400, '{"error":"Missing recipient address"}'])
    expect(answer.headers).toHaveProperty('deprecation')
  })

  test('an unknown template is not found, and NUL in a form is no failure of ours', async () => {
    const { legacy, uid } = await createMailing()
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const unknown = await legacy('POST', '/api/transactionals', form, 'uid=tmpl_x&recipient=a@example.com')
    expect([unknown.status, unknown.text]).toEqual([404, '{"message":"Transactional not found"}'])
    expect(
      (await legacy('POST', '/api/transactionals', form, `uid=${uid}&recipient=a@example.com&customFields.name=%00`))
        .status,
    ).toBe(422)
  })

  test('a repeated request with an Idempotency-Key gets the first answer again, warning included', async () => {
    const { legacy, uid } = await createMailing()
    const post = () =>
      legacy(
        'POST',
        '/api/transactionals',
        { 'content-type': 'application/json', 'idempotency-key': 'k' },
        JSON.stringify({ uid, recipient: 'once@example.com' }),
      )
    const first = await post()
    const second = await post()
    expect(second.headers).toHaveProperty('idempotent-replayed')
    expect([second.status, second.text]).toEqual([first.status, first.text])
  })

  test('email templates are listed by uid and name', async () => {
    const { legacy, uid } = await createMailing()
    const answer = await legacy('GET', '/api/transactionals')
    expect(JSON.parse(answer.text)).toEqual({
      templates: [{ uid, name: 'Order update' }],
      warning: warning('/public/v1/templates/email'),
    })
  })

  test('WhatsApp sends and templates do what their replacements do, with a warning', async () => {
    const { createCompany, call, url } = await old
    const { key } = await createCompany()
    const headers = { authorization: `Bearer ${key.token}` }
    const templates = await call(url, 'GET', '/api/transactionals/whatsapp/templates', undefined, headers)
    expect(templates.status).toBe(200)
    expect(templates.body.warning).toEqual(warning('/public/v1/templates/whatsapp'))
    expect(templates.body.data.length).toBeGreaterThan(0)
    const named = await call(url, 'GET', '/public/v1/templates/whatsapp', undefined, headers)
    expect(templates.body.data).toEqual(named.body.data)

    const body = {
      recipient: uniquePhone(),
      type: 'template',
      template: {
        name: 'order_update',
        languageCode: 'en_US',
        components: [
          {
            type: 'BODY',
            parameters: [
              { type: 'text', text: 'Ada' },
              { type: 'text', text: '17' },
            ],
          },
        ],
      },
    }
    const sent = await call(url, 'POST', '/api/transactionals/whatsapp/send', body, {
      ...headers,
      'idempotency-key': 'w',
    })
    expect(sent.status).toBe(200)
    expect(sent.body).toMatchObject({
      success: true,
      data: { success: true, wamid: expect.any(String) },
      warning: warning('/public/v1/templates/whatsapp/send'),
    })
    const again = await call(url, 'POST', '/api/transactionals/whatsapp/send', body, {
      ...headers,
      'idempotency-key': 'w',
    })
    expect(again.text).toBe(sent.text)
    const missing = await call(url, 'POST', '/api/transactionals/whatsapp/send', { type: 'text', text: 'x' }, headers)
    expect([missing.status, missing.body]).toEqual([400, { error: 'Missing recipient phone number' }])
  })

  test.each([
    [
      'JSON',
      'application/json',
      JSON.stringify({ email: 'legacy@example.com', firstName: 'Ada', customFields: { VIP: 'yes' } }),
    ],
    ['urlencoded', 'application/x-www-form-urlencoded', 'email=legacy@example.com&firstName=Ada&customFields.VIP=yes'],
    [
      'multipart',
      'multipart/form-data; boundary=frontier',
      '--frontier\r\nContent-Disposition: form-data; name="email"\r\n\r\nlegacy@example.com\r\n--frontier\r\nContent-Disposition: form-data; name="customFields.VIP"\r\n\r\nyes\r\n--frontier--\r\n',
    ],
  ])('a contact is written and answered by its id as text, as %s', async (_name, contentType, body) => {
    const { legacy, api } = await createMailing()
    const answer = await legacy('POST', '/api/contacts', { 'content-type': contentType }, body)
    expect(answer.status).toBe(200)
    const contact = await api('GET', '/contacts/by-email/legacy@example.com')
    expect(JSON.parse(answer.text)).toEqual([{ contactId: String(contact.body.data.id) }])
    expect(contact.body.data.custom_fields).toEqual({ VIP: 'yes' })
    expect(answer.headers).toHaveProperty('deprecation')
  })

  test('a contact is matched by email only: another one with its phone stays as it is', async () => {
    const { legacy, api } = await createMailing()
    const json = { 'content-type': 'application/json' }
    const write = async (body: object) =>
      JSON.parse((await legacy('POST', '/api/contacts', json, JSON.stringify(body))).text)[0].contactId
    const first = await write({ email: 'first@example.com', phone: '+39333123456' })
    const second = await write({ email: 'second@example.com', phone: '+39333123456' })
    expect(second).not.toBe(first)
    expect(await write({ email: 'FIRST@example.com', phone: '+39333123457' })).toBe(first)
    expect((await api('GET', `/contacts/${second}`)).body.data).toMatchObject({ email: 'second@example.com' })
  })

  test('a contact needs an email', async () => {
    const { legacy } = await createMailing()
    expect(
      (await legacy('POST', '/api/contacts', { 'content-type': 'application/json' }, '{"phone":"+39333123456"}'))
        .status,
    ).toBe(400)
  })

  test('keys and permissions are those of the replacements', async () => {
    const { createCompany, call, url } = await old
    const { key } = await createCompany({ isConnected: false, permissions: ['ContactsUpsert'] })
    const headers = { authorization: `Bearer ${key.token}` }
    expect((await call(url, 'GET', '/api/transactionals')).status).toBe(401)
    expect((await call(url, 'GET', '/api/transactionals', undefined, headers)).status).toBe(403)
    const written = await call(url, 'POST', '/api/contacts', { email: 'browser@example.com' }, headers)
    expect([written.status, written.body]).toEqual([200, [{}]])
  })

  test('one second later it is gone', async () => {
    const { legacy } = await createMailing()
    expect((await legacy('GET', '/api/transactionals')).status).toBe(200)
    before.advance(1_000)
    expect((await legacy('GET', '/api/transactionals')).status).toBe(410)
    before.advance(-1_000)
  })
})
