import { request } from 'undici'
import { afterAll, describe, expect, test } from 'vitest'
import { startSandbox } from '../sandbox.ts'

const SERVICE = 'http://127.0.0.1:3999'
const sandbox = await startSandbox({ webhookUrl: `${SERVICE}/public/v1/webhooks/whatsapp`, autoStatus: false })
afterAll(() => sandbox.stop())

const NUMBER = { phoneNumberId: '1', displayPhoneNumber: '+39 1', verifiedName: 'Forged', wabaAccountId: '2' }
const ask = async (
  headers: Record<string, string>,
  body: string | null = JSON.stringify(NUMBER),
  path = '/numbers',
) => {
  const answer = await request(`${sandbox.url}/sandbox${path}`, { method: 'POST', headers, body })
  return { status: answer.statusCode, body: (await answer.body.json()) as { error?: { message: string } } }
}
const names = async () => {
  const answer = await request(`${sandbox.url}/sandbox/numbers`)
  return JSON.stringify(await answer.body.json())
}
const json = { 'content-type': 'application/json' }

describe('a page that a visitor opens cannot use the control address', () => {
  test.each([
    ['application/x-www-form-urlencoded'],
    ['multipart/form-data; boundary=x'],
    ['text/plain;charset=UTF-8'],
    ['text/json'],
    [''],
  ])('by a body of the type %j, which a form can send', async (type) => {
    const answer = await ask(type === '' ? {} : { 'content-type': type })
    expect(answer).toEqual({ status: 415, body: { error: { message: 'The Content-Type must be application/json' } } })
    expect(await names()).not.toContain('Forged')
  })

  test.each([
    ['another site', { origin: 'https://evil.example' }],
    ['another port', { origin: 'http://127.0.0.1:1' }],
    ['a sandboxed frame', { origin: 'null' }],
    ['a name that resolves to this machine', { host: 'evil.example' }],
    ['the service by another scheme', { origin: SERVICE.replace('http:', 'https:') }],
  ])('from %s', async (_, headers) => {
    expect((await ask({ ...json, ...headers })).status).toBe(403)
    expect(await names()).not.toContain('Forged')
  })
})

test.each([
  ['the sandbox’s own pages', { origin: sandbox.url }],
  ['pages of the service', { origin: SERVICE }],
  ['programs, which send no Origin', {}],
])('control: %s can use it', async (_, headers) => {
  expect((await ask({ ...json, ...headers })).status).toBe(200)
})

test('a call without a body needs no Content-Type', async () => {
  expect((await ask({}, null, '/reset')).status).toBe(200)
})
