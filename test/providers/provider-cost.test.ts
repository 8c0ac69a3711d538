import { createHmac, randomInt } from 'node:crypto'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { bodyOf, changeOf, inboxOf, providerOf, textFrom } from '../provider-webhook.ts'
import { startTestService, type TestService, uniquePhone } from '../service.ts'

/** The cost of bodies of the provider's webhook for others that post from the same address. */
let service: TestService
let provider: ReturnType<typeof providerOf>
let owner: Awaited<ReturnType<TestService['createCompany']>>
beforeAll(async () => {
  service = await startTestService({ mirrors: true })
  provider = providerOf(service)
  owner = await service.createCompany({ sender: { appSecret: SECRET } })
})
beforeEach(async () => {
  await provider.handled()
  await service.db`truncate unhandled_counts`
})

const SECRET = 'the-secret-of-the-number'
const MIB = 1024 * 1024
const unknownNumber = () => `9${randomInt(1e9, 1e10)}${randomInt(1e4, 1e5)}`
const textBody = (phoneNumberId: string, from: string, text: string) =>
  JSON.stringify(bodyOf(changeOf(phoneNumberId, { messages: [textFrom(from, text)] })))
const signed = (body: string, secret = SECRET) => ({
  'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
})
/** As the provider does: a body that is refused for the moment is posted again. */
const isSpent = async () => (await provider.post(textBody(unknownNumber(), uniquePhone(), 'x'))).status === 429

test('a number without a secret is not refused for the secret of another number of its account', async () => {
  const open = await service.createCompany()
  const from = uniquePhone()
  const body = textBody(open.phoneNumberId, from, 'unsigned')
  expect(JSON.parse(body).entry[0].id).toBeDefined()
  const account = owner.sender.wabaAccountId ?? '200000000000001'
  await provider.report(body.replace(/"id":"[^"]*","changes"/, `"id":"${account}","changes"`))
  expect(await inboxOf(open).texts(from)).toEqual(['unsigned'])
})

test('a body that proves itself is accepted from an address that is refused otherwise', async () => {
  await service.db`
    insert into unhandled_counts (address, bytes, items, window_ends_at)
    values ('127.0.0.1', 1, 10001, now() + interval '1 hour')
  `
  await expect.poll(isSpent).toBe(true)
  const from = uniquePhone()
  const body = textBody(owner.phoneNumberId, from, 'genuine')
  await provider.report(body, signed(body))
  expect(await inboxOf(owner).texts(from)).toEqual(['genuine'])
  const forged = await provider.post(body, signed(body, 'another-secret-of-16'))
  expect(forged.status).toBe(401)
  // Without any proof it is refused before it is read.
  expect((await provider.post(body)).status).toBe(429)
  const unknown = textBody(unknownNumber(), from, 'unknown')
  expect((await provider.post(unknown, signed(unknown))).status).toBe(429)
})

test('a body that is answered 401 counts against its address, and one that proves itself does not', async () => {
  const body = textBody(owner.phoneNumberId, uniquePhone(), 'x'.repeat(3 * MIB))
  await provider.report(body, signed(body))
  for (let call = 1; call <= 6; call += 1) {
    expect((await provider.post(body, signed(body, 'another-secret-of-16'))).status).toBe(401)
  }
  const bytes = async () => (await service.db<{ bytes: number }[]>`select bytes from unhandled_counts`)[0]?.bytes ?? 0
  // Bodies of tests before may be counted late, and count as items too.
  await expect.poll(bytes).toBeGreaterThanOrEqual(6 * body.length)
  expect(await bytes()).toBeLessThan(7 * body.length)
  await expect.poll(isSpent).toBe(true)
})

test('a proven body with items for an unknown number counts against no address', async () => {
  const body = JSON.stringify(
    bodyOf(
      changeOf(owner.phoneNumberId, { messages: [textFrom(uniquePhone(), 'known')] }),
      changeOf(unknownNumber(), { messages: [textFrom(uniquePhone(), 'unknown')] }),
    ),
  )
  await provider.report(body, signed(body))
  expect(await service.db`select from unhandled_counts`).toHaveLength(0)
})

test('a body with more ids than a provider writes is refused without a look-up of any', async () => {
  const changes = Array.from({ length: 300 }, () => changeOf(unknownNumber(), { messages: [] }))
  for (const body of [JSON.stringify(bodyOf(...changes)), `{"entry":[${'{},'.repeat(1_000_000)}{}]}`]) {
    expect((await provider.post(body, signed(body))).status).toBe(401)
  }
})

test('a name with an escape does not hide a number that has a secret', async () => {
  const body = textBody(owner.phoneNumberId, uniquePhone(), 'forged')
  const hidden = body.replace('"phone_number_id"', '"phone_number\\u005fid"')
  expect((await provider.post(hidden, signed(hidden, 'another-secret-of-16'))).status).toBe(401)
})
