import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Sandbox, startSandbox } from '../sandbox.ts'
import { ACCOUNT, call, NUMBER, SECOND_NUMBER } from '../test/client.ts'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.stop())

const TEMPLATES = `/v25.0/${ACCOUNT}/message_templates`

test('pages through the templates to the end', async () => {
  const seen: string[] = []
  const sizes: number[] = []
  let next: string | undefined = `${TEMPLATES}?fields=id,name,status&limit=4`
  while (next !== undefined) {
    const { body } = await call(sandbox, 'GET', next)
    sizes.push(body.data.length)
    seen.push(...body.data.map((template: { id: string }) => template.id))
    expect(body.paging.cursors).toEqual({ before: expect.any(String), after: expect.any(String) })
    next = body.paging.next
  }
  expect(sizes).toEqual([4, 4, 1])
  expect(new Set(seen).size).toBe(9)
})

test('follows a cursor by itself, too, and refuses one that it never gave', async () => {
  const first = await call(sandbox, 'GET', `${TEMPLATES}?limit=5`)
  const second = await call(sandbox, 'GET', `${TEMPLATES}?limit=5&after=${first.body.paging.cursors.after}`)
  expect(second.body.data.map((template: { name: string }) => template.name)).not.toContain(first.body.data[4].name)
  expect((await call(sandbox, 'GET', `${TEMPLATES}?after=bm9uc2Vuc2U`)).body.error.code).toBe(100)
})

test('leaves the rejection and the quality out unless they are asked for', async () => {
  const usual = (await call(sandbox, 'GET', `${TEMPLATES}?name=big_prize`)).body.data[0]
  expect(usual).not.toHaveProperty('rejected_reason')
  expect(usual).not.toHaveProperty('quality_score')
  expect(usual).toMatchObject({
    id: '300000000000008',
    name: 'big_prize',
    status: 'REJECTED',
    parameter_format: 'POSITIONAL',
  })
  const fields = 'id,rejected_reason,quality_score'
  const asked = (await call(sandbox, 'GET', `${TEMPLATES}?name=big_prize&fields=${fields}`)).body.data[0]
  expect(Object.keys(asked).sort()).toEqual(['id', 'quality_score', 'rejected_reason'])
  expect(asked.rejected_reason).toBe('PROMOTIONAL')
})

test('filters by status and language', async () => {
  const paused = await call(sandbox, 'GET', `${TEMPLATES}?status=PAUSED`)
  expect(paused.body.data).toMatchObject([{ name: 'feedback_invite' }])
  const italian = await call(sandbox, 'GET', `${TEMPLATES}?language=it`)
  expect(italian.body.data).toMatchObject([{ name: 'order_update', language: 'it' }])
})

test('pages through the numbers', async () => {
  const path = `/v25.0/${ACCOUNT}/phone_numbers?fields=id,display_phone_number,verified_name&limit=1`
  const first = (await call(sandbox, 'GET', path)).body
  expect(first.data).toEqual([{ id: NUMBER, display_phone_number: '+44 7700 900100', verified_name: 'Parley Demo' }])
  const second = (await call(sandbox, 'GET', first.paging.next)).body
  expect(second.data).toMatchObject([{ id: SECOND_NUMBER }])
  expect(second.paging).not.toHaveProperty('next')
})

test('returns the namespace of the account', async () => {
  const { body } = await call(sandbox, 'GET', `/v25.0/${ACCOUNT}?fields=message_template_namespace`)
  expect(body).toEqual({
    id: ACCOUNT,
    message_template_namespace: expect.stringMatching(/^\w{8}_\w{4}_\w{4}_\w{4}_\w{12}$/),
  })
})

test('takes webhook configuration and subscriptions', async () => {
  const config = { webhook_configuration: { override_callback_uri: 'https://example.com', verify_token: 't' } }
  expect((await call(sandbox, 'POST', `/v25.0/${NUMBER}`, config)).body).toEqual({ success: true })
  expect((await call(sandbox, 'POST', `/v25.0/${ACCOUNT}/subscribed_apps`)).body).toEqual({ success: true })
})

test.each([
  ['GET', '/v25.0/404'],
  ['GET', '/v25.0/404/message_templates'],
  ['GET', `/v25.0/${NUMBER}/message_templates`],
  ['POST', `/v25.0/${ACCOUNT}/messages`],
  ['POST', '/v25.0/404/media'],
] as const)('400 code 100, subcode 33 for %s %s', async (method, path) => {
  const { status, body } = await call(sandbox, method, path)
  expect(status).toBe(400)
  expect(body.error).toMatchObject({ code: 100, error_subcode: 33 })
})

test.each([
  TEMPLATES,
  `/v25.0/${ACCOUNT}/phone_numbers`,
  `/v25.0/${ACCOUNT}`,
])('401 code 190 without a bearer: %s', async (path) => {
  const { status, body } = await call(sandbox, 'GET', path, undefined, null)
  expect([status, body.error.code]).toEqual([401, 190])
})

test('404 for unknown addresses', async () => {
  expect((await call(sandbox, 'GET', '/elsewhere')).status).toBe(404)
  expect((await call(sandbox, 'GET', '/sandbox/nonsense')).status).toBe(404)
})
