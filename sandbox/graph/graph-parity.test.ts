import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Sandbox, startSandbox } from '../sandbox.ts'
import { ACCOUNT, call, NUMBER, send, textTo } from '../test/client.ts'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterEach(() => call(sandbox, 'POST', '/sandbox/reset'))
afterAll(() => sandbox.stop())

const interactive = (content: object) => textTo('393331234567', { type: 'interactive', text: undefined, ...content })
const buttons = (...titles: string[]) =>
  interactive({
    interactive: {
      type: 'button',
      body: { text: 'Choose' },
      action: { buttons: titles.map((title, id) => ({ type: 'reply', reply: { id: String(id), title } })) },
    },
  })
const rows = (count: number, title = 'Row') =>
  interactive({
    interactive: {
      type: 'list',
      body: { text: 'Choose' },
      action: { button: 'Open', sections: [{ rows: Array.from({ length: count }, (_, id) => ({ id, title })) }] },
    },
  })

const CTA = { parameters: { display_text: 'Go', url: 'https://example.com' } }
const ofMember = (type: string, content: unknown) => textTo('393331234567', { type, text: undefined, [type]: content })
const ofType = (
  type: string,
  parts: { body?: string; header?: object; footer?: string; [member: string]: unknown },
) => {
  const { body = 'Ok?', header, footer, ...action } = parts
  const frame = { ...(header && { header }), ...(footer && { footer: { text: footer } }) }
  return interactive({ interactive: { type, body: { text: body }, ...frame, action } })
}

describe('refuses what Graph refuses', () => {
  test.each([
    ['a recipient that is no number', textTo('Ada'), 131009],
    ['a number that is too short', textTo('1234'), 131009],
    ['four reply buttons', buttons('A', 'B', 'C', 'D'), 131009],
    ['a button title of 21 characters', buttons('x'.repeat(21)), 131009],
    ['eleven rows', rows(11), 131009],
    ['two buttons with one title', buttons('A', 'A'), 131009],
    ['no button', buttons(), 131009],
    ['a body of 1,025 characters', ofType('cta_url', { body: 'x'.repeat(1_025), ...CTA }), 131009],
    ['a footer of 61 characters', ofType('cta_url', { footer: 'x'.repeat(61), ...CTA }), 131009],
    ['no body', ofType('location_request_message', { body: '', name: 'send_location' }), 131009],
    ['another name of the action', ofType('request_contact_info', { name: 'send_location' }), 131009],
    ['a call to action without an address', ofType('cta_url', { parameters: { display_text: 'Go' } }), 131009],
    ['a flow without an id', ofType('flow', { parameters: { flow_cta: 'Go' } }), 131009],
    [
      'a flow button of 31 characters',
      ofType('flow', { parameters: { flow_id: '1', flow_cta: 'x'.repeat(31) } }),
      131009,
    ],
    [
      'a header with an unknown file',
      ofType('cta_url', { header: { type: 'image', image: { id: '42' } }, ...CTA }),
      100,
    ],
    ['a latitude of 91', ofMember('location', { latitude: 91, longitude: 0 }), 131009],
    ['a location without longitude', ofMember('location', { latitude: 1, longitude: null }), 131009],
    ['a contact without a name', ofMember('contacts', [{ phones: [] }]), 131009],
    ['a contact with one name', ofMember('contacts', [{ name: { formatted_name: 'Ada' } }]), 131009],
    ['a reaction without a message', ofMember('reaction', { emoji: '👍' }), 100],
    ['an unknown media id', textTo('393331234567', { type: 'image', text: undefined, image: { id: '42' } }), 100],
  ])('%s', async (_name, body, code) => {
    const answer = await send(sandbox, body)
    expect([answer.status, answer.body.error.code]).toEqual([400, code])
  })

  test('a recipient that is the sender', async () => {
    const [{ displayPhoneNumber }] = (await call(sandbox, 'GET', '/sandbox/numbers')).body
    expect((await send(sandbox, textTo(displayPhoneNumber))).body.error.code).toBe(131021)
  })
})

describe('takes what Graph takes', () => {
  test.each([
    ['three buttons', buttons('A', 'B', 'x'.repeat(20))],
    ['ten rows', rows(10)],
    ['a call to action', ofType('cta_url', CTA)],
    ['a flow', ofType('flow', { parameters: { flow_name: 'fitting', flow_cta: 'Go' } })],
    ['a location request', ofType('location_request_message', { name: 'send_location' })],
    ['a contact request', ofType('request_contact_info', { name: 'request_contact_info' })],
    ['a location', ofMember('location', { latitude: 1.5, longitude: '2' })],
    ['a contact', ofMember('contacts', [{ name: { formatted_name: 'Ada R', first_name: 'Ada' } }])],
    ['a reaction', ofMember('reaction', { message_id: 'wamid.x', emoji: '' })],
    ['a quote', textTo('393331234567', { context: { message_id: 'wamid.x' } })],
    ['a formatted number', textTo('+39 333 123-4567')],
    ['no type', { messaging_product: 'whatsapp', to: '393331234567', text: { body: 'Hi' } }],
    ['an object as JSON in a string', { ...textTo('393331234567'), text: '{"body":"Hi"}' }],
  ])('%s', async (_name, body) => {
    expect((await send(sandbox, body)).status).toBe(200)
  })

  test('a form body, the token in the query and no version in the path', async () => {
    const form = new URLSearchParams({ messaging_product: 'whatsapp', to: '393331234567', text: '{"body":"Hi"}' })
    const url = `${sandbox.url}/${NUMBER}/messages?access_token=token`
    expect((await fetch(url, { method: 'POST', body: form })).status).toBe(200)
    const [message] = (await call(sandbox, 'GET', '/sandbox/messages')).body
    expect(message.body).toEqual({
      messaging_product: 'whatsapp',
      to: '393331234567',
      type: 'text',
      text: { body: 'Hi' },
    })
    const refused = await fetch(`${sandbox.url}/${NUMBER}/messages`, { method: 'POST', body: form })
    expect(refused.status).toBe(401)
  })
})

test('a created template is pending, can be approved and is then sent', async () => {
  const template = {
    name: 'pickup',
    language: 'en_US',
    category: 'UTILITY',
    components: [{ type: 'BODY', text: 'Ready' }],
  }
  const created = await call(sandbox, 'POST', `/v25.0/${ACCOUNT}/message_templates`, template)
  expect(created.body).toEqual({ id: expect.any(String), status: 'PENDING', category: 'UTILITY' })
  expect((await call(sandbox, 'POST', `/v25.0/${ACCOUNT}/message_templates`, template)).status).toBe(400)
  await call(sandbox, 'POST', `/sandbox/templates/${created.body.id}/status`, { status: 'APPROVED' })
  const message = {
    messaging_product: 'whatsapp',
    to: '393331234567',
    type: 'template',
    template: { name: 'pickup', language: { code: 'en_US' } },
  }
  expect((await send(sandbox, message)).status).toBe(200)
})

test('the business profile keeps what was set', async () => {
  const path = `/v25.0/${NUMBER}/whatsapp_business_profile`
  await call(sandbox, 'POST', path, { messaging_product: 'whatsapp', about: 'Open 9 to 5' })
  expect((await call(sandbox, 'GET', path)).body.data).toEqual([
    { messaging_product: 'whatsapp', about: 'Open 9 to 5' },
  ])
  expect((await call(sandbox, 'POST', path, { messaging_product: 'whatsapp', colour: 'red' })).status).toBe(400)
})

test('the app is subscribed to an account until it is removed', async () => {
  const path = `/v25.0/${ACCOUNT}/subscribed_apps`
  expect((await call(sandbox, 'GET', path)).body.data).toEqual([])
  await call(sandbox, 'POST', path)
  expect((await call(sandbox, 'GET', path)).body.data).toHaveLength(1)
})

test('customers are blocked and listed', async () => {
  const path = `/v25.0/${NUMBER}/block_users`
  const users = { messaging_product: 'whatsapp', block_users: [{ user: '+39 333 1234567' }] }
  expect((await call(sandbox, 'POST', path, users)).status).toBe(200)
  expect((await call(sandbox, 'GET', path)).body.data).toEqual([
    { messaging_product: 'whatsapp', wa_id: '393331234567' },
  ])
})

describe('the control address', () => {
  const control = (headers: Record<string, string>, body = '{}') =>
    fetch(`${sandbox.url}/sandbox/reset`, { method: 'POST', headers, body }).then(({ status }) => status)
  const json = { 'content-type': 'application/json' }

  test('answers its own page and programs without an origin', async () => {
    expect(await control(json)).toBe(200)
    expect(await control({ ...json, origin: sandbox.url })).toBe(200)
  })

  test.each([
    ['a foreign origin', { ...json, origin: 'https://evil.example' }],
    ['a sandboxed page', { ...json, origin: 'null' }],
  ])('refuses %s', async (_name, headers) => {
    expect(await control(headers)).toBe(403)
  })

  test('refuses a name that is not loopback', async () => {
    const { request } = await import('undici')
    const answer = await request(`${sandbox.url}/sandbox/messages`, { headers: { host: 'rebound.example' } })
    await answer.body.dump()
    expect(answer.statusCode).toBe(403)
  })
})
