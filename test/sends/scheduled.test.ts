import { expect, test } from 'vitest'
import type { Db } from '../../src/db/connect.ts'
import { holdOpen, untilBlocked } from '../held-locks.ts'
import { writeUnmirrored } from '../run/mirrors.ts'
import { uniquePhone } from '../service.ts'
import {
  hoursAhead,
  NOTICE,
  record,
  SCHEDULED,
  schedule,
  scheduled,
  startScheduled,
  TOMORROW,
} from './scheduled-world.ts'

const { service, db, createCompany, makeJobDue, untilJobEnded, go, takenBy, written } = await startScheduled()

test('a message with sendAt is answered 202, waits, and is sent at its time', async () => {
  const company = await createCompany()
  const recipient = uniquePhone()
  const { status, body } = await schedule(company, { recipient })
  expect([status, body]).toEqual([
    202,
    {
      success: true,
      data: {
        id: expect.any(Number),
        status: 'scheduled',
        sendAt: TOMORROW,
        chatId: null,
        messageId: null,
        recipient,
        type: 'template',
        text: expect.stringContaining('parcel'),
        senderName: 'Shop key',
        error: null,
        createdAt: expect.any(String),
      },
    },
  ])
  const { data } = body
  expect(await takenBy(recipient)).toEqual([])
  expect(await record(company, data.id)).toEqual(data)
  const [job] = await db<{ dueAt: Date }[]>`
    select due_at from jobs where (company_id, subject_id, kind) = (${company.companyId}, ${data.id}, 'message.send')
  `
  expect(job?.dueAt.toISOString()).toBe(TOMORROW)

  const ended = await go(company, data.id)
  expect(ended).toMatchObject({ status: 'sent', text: null, error: null })
  const [taken, ...others] = await takenBy(recipient)
  expect(others).toEqual([])
  const { body: message } = await company.api(
    'GET',
    `/whatsapp/conversations/${ended.chatId}/messages/${ended.messageId}`,
  )
  expect(message.data.message).toMatchObject({
    status: 'sent',
    wamid: taken.wamid,
    text: data.text,
    senderName: 'Shop key',
  })
})

test('a reply goes to the address that the customer has by then, and answers the quoted message', async () => {
  const company = await createCompany()
  const { from, messageId, chatId, wamid } = await written(company)
  const path = `/whatsapp/conversations/${chatId}/messages`
  const sendAt = hoursAhead(1)
  const { status, body } = await company.api('POST', path, { type: 'text', text: 'Later', quoted: messageId, sendAt })
  expect([status, body.data]).toMatchObject([202, { chatId, recipient: from, type: 'text', text: 'Later' }])
  const moved = uniquePhone()
  await db`update customers set phone = ${moved} where (company_id, phone) = (${company.companyId}, ${from})`
  await db`update customer_identities set identity = ${moved} where (company_id, identity) = (${company.companyId}, ${from})`
  const ended = await go(company, body.data.id)
  expect(ended).toMatchObject({ status: 'sent', chatId })
  expect(await takenBy(from)).toEqual([])
  const [taken] = await takenBy(moved)
  expect(taken.body).toMatchObject({ text: { body: 'Later' }, context: { message_id: wamid } })
})

test('the scheduled messages of a conversation are listed, newest first, by status and page', async () => {
  const company = await createCompany()
  const { from, chatId } = await written(company)
  const ids: number[] = []
  for (let count = 0; count < 3; count += 1) ids.unshift((await scheduled(company, { recipient: from })).id)
  await scheduled(company)
  const list = async (query: string) =>
    (await company.api('GET', `${SCHEDULED}?${query}`)).body.data.map(({ id }: { id: number }) => id)
  expect(await list(`chatId=${chatId}`)).toEqual(ids)
  expect(await list(`chatId=${chatId}&limit=1&before=${ids[0]}`)).toEqual([ids[1]])
  await go(company, ids[1]!)
  expect(await list(`chatId=${chatId}&status=scheduled`)).toEqual([ids[0], ids[2]])
  expect(await list('status=sent')).toEqual([ids[1]])
})

test('a cancelled message is never sent; one that was sent cannot be cancelled', async () => {
  const company = await createCompany()
  const recipient = uniquePhone()
  const { id } = await scheduled(company, { recipient })
  const cancel = () => company.api('DELETE', `${SCHEDULED}/${id}`)
  const cancelled = await cancel()
  expect([cancelled.status, cancelled.body]).toEqual([200, { success: true }])
  const again = await cancel()
  expect([again.status, again.body]).toEqual([404, { message: 'Scheduled message not found' }])
  await makeJobDue(company.companyId, id)
  await untilJobEnded(company.companyId, id)
  expect(await takenBy(recipient)).toEqual([])

  const sent = await scheduled(company, { recipient })
  await go(company, sent.id)
  const late = await company.api('DELETE', `${SCHEDULED}/${sent.id}`)
  expect([late.status, late.body.error.code]).toEqual([409, 'already_sent'])
  expect(await takenBy(recipient)).toHaveLength(1)
})

test('a message that goes at this moment is either cancelled or sent', async () => {
  const company = await createCompany()
  const recipient = uniquePhone()
  const { id } = await scheduled(company, { recipient })
  const release = await holdOpen(db, async (tx: Db) => {
    await tx`select from scheduled_messages where (company_id, id) = (${company.companyId}, ${id}) for update`
  })
  await makeJobDue(company.companyId, id)
  await untilBlocked(db)
  const cancelling = company.api('DELETE', `${SCHEDULED}/${id}`)
  await release()
  const { status } = await cancelling
  await untilJobEnded(company.companyId, id)
  expect([status, (await takenBy(recipient)).length]).toEqual(status === 200 ? [200, 0] : [409, 1])
})

test('what is wrong already is refused at once', async () => {
  const company = await createCompany()
  const { messageId, chatId } = await written(company)
  const reaction = { type: 'reaction', reaction: { messageId, emoji: '👍' }, sendAt: TOMORROW }
  const reacted = await company.api('POST', `/whatsapp/conversations/${chatId}/messages`, reaction)
  expect([reacted.status, reacted.body.error.message]).toEqual([400, 'sendAt does not go with type reaction'])
  expect((await schedule(company, { template: { name: 'unknown' } })).body.error.code).toBe('template_not_found')
  expect((await schedule(company, { sender: '390000000' })).body.error.code).toBe('WHATSAPP_SENDER_NOT_FOUND')
  expect((await schedule(company, { quoted: 987654321012 })).status).toBe(404)
  expect(await db`select from scheduled_messages where company_id = ${company.companyId}`).toHaveLength(0)
})

test('at most 100,000 messages of a company wait', { timeout: 120_000 }, async () => {
  const company = await createCompany()
  const { id } = await scheduled(company)
  const copies = (count: number) =>
    writeUnmirrored(
      db,
      (tx) => tx`
        insert into scheduled_messages (company_id, sender_id, is_reply, recipient, identity, type, sender_name, send_at)
        select company_id, sender_id, is_reply, recipient, identity, type, sender_name, send_at
        from scheduled_messages, generate_series(1, ${count})
        where (company_id, id) = (${company.companyId}, ${id})
      `,
    )
  await copies(99_998)
  await scheduled(company)
  const { status, body } = await schedule(company)
  expect([status, body.error.details.fields]).toEqual([
    422,
    [{ path: 'sendAt', message: 'is refused: 100,000 messages wait already' }],
  ])
})

test('an Idempotency-Key schedules once', async () => {
  const company = await createCompany()
  const body = { recipient: uniquePhone() }
  const first = await schedule(company, body, { 'idempotency-key': 'once' })
  const again = await schedule(company, body, { 'idempotency-key': 'once' })
  expect([again.status, again.body, again.headers.get('idempotent-replayed')]).toEqual([202, first.body, 'true'])
  expect(await db`select from scheduled_messages where company_id = ${company.companyId}`).toHaveLength(1)
})

test('another company neither sees nor cancels a scheduled message', async () => {
  const [company, other] = [await createCompany(), await createCompany()]
  const { id } = await scheduled(company)
  expect((await other.api('GET', `${SCHEDULED}/${id}`)).status).toBe(404)
  expect((await other.api('DELETE', `${SCHEDULED}/${id}`)).status).toBe(404)
  expect((await other.api('GET', SCHEDULED)).body.data).toEqual([])
  expect(await record(company, id)).toMatchObject({ status: 'scheduled' })
})

test('the legacy address schedules nothing, and sends nothing at once', async () => {
  const company = await createCompany()
  const recipient = uniquePhone()
  const { status, body } = await service.call(
    service.url,
    'POST',
    '/api/transactionals/whatsapp/send',
    { recipient, ...NOTICE, sendAt: TOMORROW },
    { authorization: `Bearer ${company.key.token}` },
  )
  expect([status, body.error.code]).toEqual([400, 'bad_request'])
  expect(await takenBy(recipient)).toEqual([])
})
