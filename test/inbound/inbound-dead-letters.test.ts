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

  test('is forgotten after seven days', async () => {
    const phoneNumberId = `7${Date.now()}`
    await provider.messages(phoneNumberId, textFrom(uniquePhone(), 'a'), textFrom(uniquePhone(), 'b'))
    const age = (days: string, id: number) =>
      service.db`update inbound_items set received_at = now() - ${days}::interval where id = ${id}`
    const [newer, older] = (await provider.deadLetters('unroutable')).filter(
      (one) => one.phoneNumberId === phoneNumberId,
    )
    await age('6 days 23 hours', newer!.id)
    await age('7 days 1 minute', older!.id)
    await expireTable(service.db, 'inbound_items')
    const left = (await provider.deadLetters('unroutable')).filter((one) => one.phoneNumberId === phoneNumberId)
    expect(left.map(({ id }) => id)).toEqual([newer!.id])
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

  test('names no customer: it is kept, not lost', async () => {
    const message = { id: newWamid(), timestamp: String(secondsNow()), type: 'text', text: { body: 'no sender' } }
    await provider.messages(company.phoneNumberId, message)
    const [failed] = await provider.deadLetters('failed')
    expect(failed).toMatchObject({ reason: 'it names no customer' })
    expect(failed!.body).toContain(message.id)
  })
})
