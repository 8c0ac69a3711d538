import { createHmac, randomInt } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { createProof } from '../../src/inbound/handling/body-reader.ts'
import { requeueMissedEvents } from '../../src/inbound/handling/unhandled/requeue.ts'
import { acceptBodies } from '../../src/inbound/ingest/accept.ts'
import { eventReader } from '../../src/wiring/events/event-reader.ts'
import { bodyOf, changeOf, inboxOf, providerOf, textFrom } from '../provider-webhook.ts'
import { startTestService, type TestService, uniquePhone } from '../service.ts'

let service: TestService
let provider: ReturnType<typeof providerOf>
beforeAll(async () => {
  service = await startTestService({ mirrors: true })
  provider = providerOf(service)
})

const SECRET = 'the-secret-of-the-number'
const newNumber = () => `9${randomInt(1e9, 1e10)}${randomInt(1e4, 1e5)}`
const bodyFrom = (phoneNumberId: string, from: string, ...texts: string[]) =>
  JSON.stringify(bodyOf(changeOf(phoneNumberId, { messages: texts.map((text) => textFrom(from, text)) })))
const signature = (body: string, secret = SECRET) => `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
const signed = (body: string, secret = SECRET) => ({ 'x-hub-signature-256': signature(body, secret) })

/** Items that wait for the number, by state. */
const waiting = async (phoneNumberId: string) => {
  const rows = await service.db<{ state: string; count: number }[]>`
    select state, count(*)::int as count from inbound_items where phone_number_id = ${phoneNumberId} group by state
  `
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]))
}
const listed = async (phoneNumberId: string) => {
  const all = (await service.operator('GET', '/unroutable-events')).body as { phoneNumberId: string; reason: string }[]
  return all.filter((one) => one.phoneNumberId === phoneNumberId)
}

describe('a number connected with an app secret', () => {
  test('takes of what waited only what that secret signed; the rest stays listed as unverified', async () => {
    const [phoneNumberId, from] = [newNumber(), uniquePhone()]
    const genuine = bodyFrom(phoneNumberId, from, 'genuine 1', 'genuine 2')
    const forged = bodyFrom(phoneNumberId, from, 'forged')
    const wrong = bodyFrom(phoneNumberId, from, 'signed by another')
    await provider.report(forged)
    await provider.report(genuine, signed(genuine))
    await provider.report(wrong, signed(wrong, 'another-secret-of-16'))
    expect(await waiting(phoneNumberId)).toEqual({ unroutable: 4 })
    const owner = await service.createCompany({ sender: { phoneNumberId, appSecret: SECRET } })
    await provider.handled()
    expect(await inboxOf(owner).texts(from)).toEqual(['genuine 1', 'genuine 2'])
    expect(await waiting(phoneNumberId)).toEqual({ unverified: 2 })
    const shown = await listed(phoneNumberId)
    expect(shown).toHaveLength(2)
    expect(shown[0]).toMatchObject({ reason: expect.stringContaining('neither signature nor secret') })
  })

  test('takes what waited once its secret is corrected, and nothing when the secret is taken away', async () => {
    const [phoneNumberId, from] = [newNumber(), uniquePhone()]
    const genuine = bodyFrom(phoneNumberId, from, 'genuine')
    await provider.report(genuine, signed(genuine))
    await provider.report(bodyFrom(phoneNumberId, from, 'forged'))
    const owner = await service.createCompany({ sender: { phoneNumberId, appSecret: 'mistyped-secret-16' } })
    const change = (appSecret: string | null) =>
      service.operator('PATCH', `/companies/${owner.companyId}/senders/${owner.sender.channelId}`, { appSecret })
    await provider.handled()
    expect(await waiting(phoneNumberId)).toEqual({ unverified: 2 })
    expect((await change(null)).status).toBe(200)
    expect(await waiting(phoneNumberId)).toEqual({ unverified: 2 })
    expect((await change(SECRET)).status).toBe(200)
    await provider.handled()
    expect(await inboxOf(owner).texts(from)).toEqual(['genuine'])
    expect(await waiting(phoneNumberId)).toEqual({ unverified: 1 })
  })

  test('takes nothing unsigned that was accepted before it was connected and is handled afterwards', async () => {
    const [phoneNumberId, from] = [newNumber(), uniquePhone()]
    const owner = await service.createCompany({ sender: { phoneNumberId, appSecret: SECRET } })
    const genuine = bodyFrom(phoneNumberId, from, 'genuine')
    const arrivals = [bodyFrom(phoneNumberId, from, 'forged', 'forged too'), genuine].map((text) => {
      const body = Buffer.from(text)
      const header = text === genuine ? signature(text) : undefined
      const proof = createProof(body, {
        signature: header === undefined ? null : eventReader.signatureOf({ 'x-hub-signature-256': header }),
        secret: undefined,
      })
      return { body, receivedAt: new Date(Date.now() - 60_000), proof, address: null }
    })
    await acceptBodies(service.db, eventReader, arrivals)
    await provider.handled()
    expect(await inboxOf(owner).texts(from)).toEqual(['genuine'])
    expect(await waiting(phoneNumberId)).toEqual({ unverified: 2 })
  })

  test('takes only what is signed of items that became unroutable while it was being connected', async () => {
    const [phoneNumberId, other, from] = [newNumber(), newNumber(), uniquePhone()]
    const genuine = bodyFrom(other, from, 'genuine')
    await provider.report(genuine, signed(genuine))
    await provider.report(bodyFrom(other, from, 'forged'))
    const owner = await service.createCompany({ sender: { phoneNumberId, appSecret: SECRET } })
    await service.db`update inbound_items set phone_number_id = ${phoneNumberId} where phone_number_id = ${other}`
    await service.db.begin((tx) =>
      requeueMissedEvents({ decrypt: service.deps.cipher.decrypt, events: eventReader }, tx),
    )
    expect(await waiting(phoneNumberId)).toEqual({ unverified: 1 })
    const [requeued] = await service.db`select count(*)::int as count from inbound_items where reason like ${other}`
    expect(requeued!.count).toBe(0)
    expect(owner.sender.phoneNumberId).toBe(phoneNumberId)
  })
})

describe('a number connected with a webhook secret', () => {
  test('takes of what waited only what came with that secret', async () => {
    const [phoneNumberId, from] = [newNumber(), uniquePhone()]
    await provider.report(bodyFrom(phoneNumberId, from, 'forged'))
    await provider.report(bodyFrom(phoneNumberId, from, 'wrong'), { 'x-webhook-secret': 'another-secret-of-16' })
    await provider.report(bodyFrom(phoneNumberId, from, 'genuine'), { 'x-webhook-secret': SECRET })
    const owner = await service.createCompany({ sender: { phoneNumberId, webhookSecret: SECRET } })
    await provider.handled()
    expect(await inboxOf(owner).texts(from)).toEqual(['genuine'])
    expect(await waiting(phoneNumberId)).toEqual({ unverified: 2 })
  })
})

test('a number connected without a secret takes everything that waited', async () => {
  const [phoneNumberId, from] = [newNumber(), uniquePhone()]
  await provider.report(bodyFrom(phoneNumberId, from, 'one'))
  const two = bodyFrom(phoneNumberId, from, 'two')
  await provider.report(two, signed(two))
  const owner = await service.createCompany({ sender: { phoneNumberId } })
  await provider.handled()
  expect(await inboxOf(owner).texts(from)).toEqual(['one', 'two'])
  expect(await waiting(phoneNumberId)).toEqual({})
})

test('the secret that came with an event is not stored, and its body once for all its items', async () => {
  const phoneNumberId = newNumber()
  const body = bodyFrom(phoneNumberId, uniquePhone(), ...Array.from({ length: 20 }, (_, n) => `n${n}`))
  await provider.report(body, { 'x-webhook-secret': 'a-secret-to-look-for' })
  const bodies = await service.db<{ body: Buffer; everything: string }[]>`
    select body, kept::text as everything from inbound_bodies kept
    where event_id in (select event_id from inbound_items where phone_number_id = ${phoneNumberId})
  `
  expect(bodies.map((one) => String(one.body))).toEqual([body])
  expect(bodies[0]!.everything).not.toContain(Buffer.from('a-secret-to-look-for').toString('hex'))
})
