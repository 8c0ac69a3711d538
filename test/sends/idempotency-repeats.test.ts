import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { newPerson, SEND, startPeople, UTILITY } from '../people/people-world.ts'
import { bodyOf, changeOf, newWamid, secondsNow } from '../provider-webhook.ts'

const { service, createShop } = await startPeople()
const { db } = service

type Sent = Awaited<ReturnType<typeof send>>

/** A send with a key; `repeat` answers status and bytes. */
async function send() {
  const shop = await createShop()
  const person = newPerson()
  const key = randomUUID()
  const repeat = async () => {
    const { status, text } = await shop.api(
      'POST',
      SEND,
      { recipient: person.phone, ...UTILITY },
      { 'idempotency-key': key },
    )
    return { status, text }
  }
  const first = await repeat()
  expect(first.status).toBe(200)
  const { wamid, chatId } = JSON.parse(first.text).data
  return { shop, person, first, repeat, wamid: wamid as string, chatId: chatId as number }
}

const statuses =
  (...names: string[]) =>
  async ({ shop, person, wamid }: Sent) => {
    for (const name of names) await shop.report(shop.events.status(wamid, name, person))
  }

const failed = ({ shop, person, wamid }: Sent) => {
  const status = { id: wamid, status: 'failed', timestamp: String(secondsNow()), recipient_id: person.phone }
  const errors = [{ code: 131026, title: 'Message undeliverable' }]
  return shop.report(bodyOf(changeOf(shop.phoneNumberId, { statuses: [{ ...status, errors }] })))
}

const changed =
  (type: 'edit' | 'revoke') =>
  async ({ shop, person, wamid }: Sent) => {
    const of = { to: person.phone, id: newWamid(), timestamp: String(secondsNow()), type }
    const content = { [type]: { original_message_id: wamid, message: { type: 'text', text: { body: 'Other words' } } } }
    await shop.report(
      bodyOf(changeOf(shop.phoneNumberId, { message_echoes: [{ ...of, ...content }] }, 'smb_message_echoes')),
    )
  }

const SINCE: [string, (sent: Sent) => Promise<unknown>][] = [
  ['nothing', async () => {}],
  ['sent', statuses('sent')],
  ['delivered', statuses('sent', 'delivered')],
  ['read', statuses('sent', 'delivered', 'read')],
  ['failed', failed],
  ['failed after sent', async (sent) => [await statuses('sent')(sent), await failed(sent)]],
  ['delivered after failed', async (sent) => [await failed(sent), await statuses('delivered')(sent)]],
  ['an edit', changed('edit')],
  ['a revoke', changed('revoke')],
  ['an answer of the customer', ({ shop, person }) => shop.report(shop.events.message(person, 'Thanks'))],
  [
    'a number change of the customer',
    ({ shop, person }) => shop.report(shop.events.numberChanged(person, newPerson())),
  ],
  [
    'an erasure of another contact',
    async ({ shop }) => {
      const { id } = await shop.createContact({ phone: newPerson().phone })
      await shop.api('DELETE', `/contacts/${id}?erase=true`)
    },
  ],
  [
    'a deletion of the contact',
    async ({ shop }) => {
      const [{ id }] = await shop.contacts()
      await shop.api('DELETE', `/contacts/${id}`)
    },
  ],
  [
    'a closed conversation',
    ({ shop, chatId }) => shop.api('PATCH', `/whatsapp/conversations/${chatId}`, { status: 'closed' }),
  ],
]

describe('a repeat is answered word for word as the first time', () => {
  test.each(SINCE)('after %s', async (_, happen) => {
    const sent = await send()
    await happen(sent)
    expect(await sent.repeat()).toEqual(sent.first)
    expect(
      (await sent.shop.inbox.messages(sent.chatId)).filter(
        (one: { direction: string }) => one.direction === 'outbound',
      ),
    ).toHaveLength(1)
  })

  test.each(SINCE)('from the message, whose answer was never stored, after %s', async (_, happen) => {
    const sent = await send()
    // As a process leaves it that dies before it has stored the answer.
    await db`
      update idempotency_keys set answer_status = null, answer_body = null, lease_until = now() - interval '1 hour'
      where company_id = ${sent.shop.companyId}
    `
    await happen(sent)
    expect(await sent.repeat()).toEqual(sent.first)
    expect(await sent.repeat()).toEqual(sent.first)
  })
})
