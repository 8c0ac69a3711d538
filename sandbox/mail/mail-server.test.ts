import { createTransport } from 'nodemailer'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Sandbox, startSandbox } from '../sandbox.ts'
import { call } from '../test/client.ts'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.stop())

const send = (subject: string, options = {}) =>
  createTransport({ url: sandbox.smtpUrl, ...options }).sendMail({
    from: 'Shop <shop@example.org>',
    to: 'ada@example.com',
    subject,
    html: '<p>Hi</p>',
    text: 'Hi',
  })

test('keeps what it receives and shows it newest first', async () => {
  await send('first')
  await send('second', { auth: { user: 'any', pass: 'body' } })
  const { body } = await call(sandbox, 'GET', '/sandbox/emails')
  expect(body.map(({ subject }: { subject: string }) => subject)).toEqual(['second', 'first'])
  expect(body[0]).toEqual({
    from: 'Shop <shop@example.org>',
    to: 'ada@example.com',
    subject: 'second',
    html: expect.stringContaining('<p>Hi</p>'),
    text: 'Hi',
    headers: expect.objectContaining({ 'mime-version': '1.0' }),
    envelope: { from: 'shop@example.org', to: ['ada@example.com'] },
    at: expect.stringMatching(/Z$/),
  })
  expect((await call(sandbox, 'GET', '/sandbox/emails?limit=1')).body).toHaveLength(1)
  expect((await call(sandbox, 'GET', '/sandbox/emails?limit=x')).status).toBe(400)
})

test.each([450, 550])('refuses with %i while it is set to', async (code) => {
  await call(sandbox, 'PUT', '/sandbox/behaviour', { refuseMailWith: code })
  await expect(send('refused')).rejects.toMatchObject({ responseCode: code })
  await call(sandbox, 'PUT', '/sandbox/behaviour', { refuseMailWith: null })
  await expect(send('taken')).resolves.toMatchObject({ response: expect.stringContaining('250') })
})

test('forgets its mails when it is reset', async () => {
  await send('old')
  await call(sandbox, 'POST', '/sandbox/reset')
  expect((await call(sandbox, 'GET', '/sandbox/emails')).body).toEqual([])
})
