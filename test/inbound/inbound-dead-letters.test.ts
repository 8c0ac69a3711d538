import { describe, expect, test } from 'vitest'
import { requeueMissedEvents } from '../../src/inbound/handling/unhandled/requeue.ts'
import { eventReader } from '../../src/wiring/events/event-reader.ts'
import { expireTable } from '../lifetimes.ts'
import { bodyOf, changeOf, inboxOf, newWamid, secondsNow, textFrom } from '../provider-webhook.ts'
import { uniquePhone } from '../service.ts'
import { startInbound } from './inbound-world.ts'

const { service, company, provider, inbox } = await startInbound()

describe('an event that cannot be routed', () => {
  test('waits for its number and is requeued in order, once, when that is connected', async () => {
    const phoneNumberId = `8${Date.now()}`
    const from = uniquePhone()
    const long = 60 * 60 * 24
    const messages = Array.from({ length: 30 }, (_, n) => textFrom(from, `n${n}`, { timestamp: undefined }))
    for (let n = 0; n < 30; n += 10) await provider.messages(phoneNumberId, ...messages.slice(n, n + 10))
    await provider.messages(phoneNumberId, messages[0]!)
    const waiting = (await provider.deadLetters('unroutable')).filter((one) => one.phoneNumberId === phoneNumberId)
    expect(waiting).toHaveLength(31)
    expect(JSON.parse(waiting[30]!.body).entry[0].changes[0].value.messages).toMatchObject([{ id: messages[0]!.id }])
    await service.db`
      update inbound_items set received_at = received_at - ${long} * interval '1 second'
      where phone_number_id = ${phoneNumberId}
    `
    const owner = await service.createCompany({ sender: { phoneNumberId } })
    await provider.handled()
    expect(await inboxOf(owner).texts(from)).toEqual(messages.map(({ text }) => text.body))
    expect((await provider.deadLetters('unroutable')).some((one) => one.phoneNumberId === phoneNumberId)).toBe(false)
    // A message without a time is as old as its arrival: it opens no window later.
    const send = await owner.api('POST', '/templates/whatsapp/send', { recipient: from, type: 'text', text: 'x' })
    expect(send.body.error?.code).toBe('session_window_closed')
  })

  test('is forgotten after 30 days', async () => {
    const phoneNumberId = `7${Date.now()}`
    await provider.messages(phoneNumberId, textFrom(uniquePhone(), 'a'), textFrom(uniquePhone(), 'b'))
    const age = (days: string, id: number) =>
      service.db`update inbound_items set received_at = now() - ${days}::interval where id = ${id}`
    const [newer, older] = (await provider.deadLetters('unroutable')).filter(
      (one) => one.phoneNumberId === phoneNumberId,
    )
    await age('29 days 23 hours', newer!.id)
    await age('30 days 1 minute', older!.id)
    await expireTable(service.db, 'inbound_items')
    const left = (await provider.deadLetters('unroutable')).filter((one) => one.phoneNumberId === phoneNumberId)
    expect(left.map(({ id }) => id)).toEqual([newer!.id])
  })

  test('is retried with all that match a filter if a connected number wants it by now, and proves its secret', async () => {
    const waiting = async (phoneNumberId: string) =>
      (await provider.deadLetters('unroutable')).filter((one) => one.phoneNumberId === phoneNumberId).length
    const unknown = `5${Date.now()}`
    await provider.messages(unknown, textFrom(uniquePhone(), 'nobody wants it'))
    const [from, forged] = [uniquePhone(), uniquePhone()]
    const secret = await service.createCompany({
      sender: { phoneNumberId: `4${Date.now()}`, appSecret: 'x'.repeat(32) },
    })
    const bodies = [
      [company.phoneNumberId, textFrom(from, 'wanted')],
      [secret.phoneNumberId, textFrom(forged, 'forged')],
    ] as const
    for (const [phoneNumberId, message] of bodies) {
      const body = Buffer.from(JSON.stringify(bodyOf(changeOf(phoneNumberId, { messages: [message] }))))
      await service.db`
        insert into inbound_items (state, reason, phone_number_id, body, received_at)
        values ('unverified', 'not proven', ${phoneNumberId}, ${body}, now())
      `
    }
    const retry = (filter: object) => service.operator('POST', '/unroutable-events/retry', filter)
    expect((await retry({ phoneNumberId: unknown })).body).toEqual({ success: true, count: 0 })
    expect((await retry({ state: 'unverified', reason: 'not proven' })).body).toEqual({ success: true, count: 1 })
    expect((await retry({})).body).toEqual({ success: true, count: 0 })
    await provider.handled()
    expect(await inbox.texts(from)).toEqual(['wanted'])
    expect([await waiting(unknown), await waiting(secret.phoneNumberId)]).toEqual([1, 1])
  })

  test('and was dead-lettered while its number was being connected is requeued afterwards', async () => {
    const from = uniquePhone()
    const message = textFrom(from, 'in between')
    const body = JSON.stringify(bodyOf(changeOf(company.phoneNumberId, { messages: [message] })))
    await service.db`
      insert into inbound_items (state, reason, phone_number_id, body, received_at)
      values ('unroutable', 'no connected number wants it', ${company.phoneNumberId}, ${Buffer.from(body)}, now())
    `
    expect(
      await service.db.begin((tx) =>
        requeueMissedEvents({ decrypt: service.deps.cipher.decrypt, events: eventReader }, tx),
      ),
    ).toBe(1)
    await provider.handled()
    expect(await inbox.texts(from)).toEqual(['in between'])
  })
})

describe('an event that fails', () => {
  test('stands alone: its siblings are in place, and the operator can retry it', async () => {
    await service.db`alter table messages add constraint poison check (text not like '%poison%')`
    const customers = Array.from({ length: 20 }, uniquePhone)
    const items = customers.map((from, n) => textFrom(from, n % 7 === 3 ? `poison ${n}` : `good ${n}`))
    const after = textFrom(customers[3]!, 'good later')
    await provider.messages(company.phoneNumberId, ...items, after)
    for (const [n, from] of customers.entries()) if (n % 7 !== 3) expect(await inbox.texts(from)).toEqual([`good ${n}`])
    expect(await inbox.texts(customers[3]!)).toEqual(['good later'])
    const failed = (await provider.deadLetters('failed')).filter(({ reason }) => reason.includes('poison'))
    expect(failed).toHaveLength(3)

    const retry = (id: number | string) => service.operator('POST', `/failed-events/${id}/retry`)
    expect((await retry(failed[0]!.id)).body).toEqual({ success: true })
    await provider.handled()
    const again = (await provider.deadLetters('failed')).filter(({ reason }) => reason.includes('poison'))
    expect(again).toHaveLength(3)
    expect(again.map(({ id }) => id)).not.toContain(failed[0]!.id)

    await service.db`alter table messages drop constraint poison`
    for (const { id } of again) expect((await retry(id)).status).toBe(200)
    await provider.handled()
    expect(await inbox.texts(customers[10]!)).toEqual(['poison 10'])
    expect(await inbox.texts(customers[3]!)).toEqual(['good later', 'poison 3'])
    const missing = await retry(again[0]!.id)
    expect([missing.status, missing.body]).toEqual([404, { message: 'Event not found' }])
    expect((await retry('x')).status).toBe(404)
  })

  test('is retried with all that match a filter, each once', async () => {
    await service.db`alter table messages add constraint poison check (text not like '%venom%')`
    const customers = Array.from({ length: 5 }, uniquePhone)
    await provider.messages(company.phoneNumberId, ...customers.map((from, n) => textFrom(from, `venom ${n}`)))
    const failed = async () => (await provider.deadLetters('failed')).filter(({ body }) => body.includes('venom'))
    expect(await failed()).toHaveLength(5)
    await service.db`alter table messages drop constraint poison`
    const retry = (filter: object) => service.operator('POST', '/failed-events/retry', filter)
    for (const filter of [
      { reason: 'no such reason' },
      { phoneNumberId: '1' },
      { state: 'unreadable' },
      { until: '2026-01-01T00:00:00Z' },
    ])
      expect((await retry(filter)).body).toEqual({ success: true, count: 0 })
    const filter = { reason: 'POISON', phoneNumberId: company.phoneNumberId, since: '2026-01-01T00:00:00Z' }
    expect((await retry({ ...filter, limit: 2 })).body).toEqual({ success: true, count: 2 })
    expect((await retry(filter)).body).toEqual({ success: true, count: 3 })
    expect((await retry(filter)).body).toEqual({ success: true, count: 0 })
    await provider.handled()
    for (const [n, from] of customers.entries()) expect(await inbox.texts(from)).toEqual([`venom ${n}`])
    expect(await failed()).toEqual([])
  })

  test('and fails again is tried once by a retry', async () => {
    await service.db`alter table messages add constraint poison check (text not like '%bane%')`
    await provider.messages(company.phoneNumberId, textFrom(uniquePhone(), 'bane'))
    const failed = async () => (await provider.deadLetters('failed')).filter(({ body }) => body.includes('bane'))
    const [first] = await failed()
    const filter = { phoneNumberId: company.phoneNumberId, reason: 'poison' }
    expect((await service.operator('POST', '/failed-events/retry', filter)).body.count).toBe(1)
    await provider.handled()
    const [second] = await failed()
    expect(second!.id).toBeGreaterThan(first!.id)
    await service.db`alter table messages drop constraint poison`
  })

  test.each([
    { state: 'unroutable' },
    { since: 'yesterday' },
    { limit: 10_001 },
    { number: '1' },
    { reason: '' },
  ])('is not retried by the filter %j', async (filter) => {
    expect((await service.operator('POST', '/failed-events/retry', filter)).status).toBe(422)
  })

  test('is counted by reason', async () => {
    const message = { id: newWamid(), timestamp: String(secondsNow()), type: 'text', text: { body: 'nobody' } }
    const countOf = async (reason: string) => {
      const { values } = await service.deps.metrics.unhandledEvents.get()
      return values.find(({ labels }) => labels.reason === reason)?.value ?? 0
    }
    const before = [await countOf('no_customer'), await countOf('no_number')]
    await provider.messages(company.phoneNumberId, message)
    await provider.messages(`6${Date.now()}`, textFrom(uniquePhone(), 'a'), textFrom(uniquePhone(), 'b'))
    expect([await countOf('no_customer'), await countOf('no_number')]).toEqual([before[0]! + 1, before[1]! + 2])
  })

  test('names no customer: it is kept, not lost', async () => {
    const message = { id: newWamid(), timestamp: String(secondsNow()), type: 'text', text: { body: 'no sender' } }
    await provider.messages(company.phoneNumberId, message)
    const [failed] = await provider.deadLetters('failed')
    expect(failed).toMatchObject({ reason: 'it names no customer' })
    expect(failed!.body).toContain(message.id)
  })
})
