import { expect, test } from 'vitest'
import { type Db, sql } from '../../src/db/connect.ts'
import { NO_INSTANT } from '../../src/platform/text/instant.ts'
import { holdOpen, untilBlocked } from '../held-locks.ts'
import { writeUnmirrored } from '../run/mirrors.ts'
import { eventually, startTestService, type TestService, uniquePhone } from '../service.ts'

// Messages with `sendAt`. The tests move the time of a message, never the clock of the machine.
const service = await startTestService({
  mirrors: true,
  config: { legacyRemovalDate: new Date('2100-01-01T00:00:00Z') },
})
const { db, createCompany, control } = service
type Company = Awaited<ReturnType<TestService['createCompany']>>

const SEND = '/templates/whatsapp/send'
const SCHEDULED = '/whatsapp/scheduled-messages'
const NOTICE = { type: 'template', template: { name: 'shipping_notice' } }
const hoursAhead = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()
const TOMORROW = hoursAhead(24)

const schedule = ({ api }: Company, body: object = {}, headers: Record<string, string> = {}) =>
  api('POST', SEND, { recipient: uniquePhone(), ...NOTICE, sendAt: TOMORROW, ...body }, headers)

async function scheduled(company: Company, body: object = {}) {
  const { status, body: answer } = await schedule(company, body)
  expect([status, answer.error]).toEqual([202, undefined])
  return answer.data
}

const record = async ({ api }: Company, id: number) => (await api('GET', `${SCHEDULED}/${id}`)).body.data

/** Moves the time of a message to `secondsAgo`. */
async function makeDue({ companyId }: Company, id: number, secondsAgo = 0): Promise<void> {
  await db`
    update scheduled_messages set send_at = now() - make_interval(secs => ${secondsAgo})
    where (company_id, id) = (${companyId}::bigint, ${id}::bigint)
  `
  await makeJobDue(companyId, id)
}

const makeJobDue = (companyId: number, id: number) => db`
  update jobs set due_at = now()
  where (company_id, subject_id) = (${companyId}::bigint, ${id}::bigint) and kind = 'message.send' and claim_id is null
`

const untilJobEnded = (companyId: number, id: number) =>
  eventually(async () => {
    const jobs = await db`
      select from jobs where (company_id, subject_id, kind) = (${companyId}::bigint, ${id}::bigint, 'message.send')
    `
    return jobs.length === 0
  })

/** Sends a message whose time has come, to the end of its job. */
async function go(company: Company, id: number, secondsAgo = 0) {
  await makeDue(company, id, secondsAgo)
  await untilJobEnded(company.companyId, id)
  return record(company, id)
}

const takenBy = async (recipient: string) =>
  (await control('GET', '/messages?limit=500')).body.filter(({ to }: { to: string }) => to === recipient)

/** A message of a customer, which opens the window. */
async function written({ companyId, phoneNumberId }: Company, from = uniquePhone()) {
  const message = { phoneNumberId, from, type: 'text', text: { body: 'Hi' } }
  const { wamid } = (await control('POST', '/inbound', message)).body
  return eventually(async () => {
    const [row] = await db<{ id: number; conversationId: number }[]>`
      select id, conversation_id from messages where company_id = ${companyId} and wamid = ${wamid}
    `
    return row && { from, wamid: wamid as string, messageId: row.id, chatId: row.conversationId }
  })
}

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

test('the window, the consent and the template are checked when it is sent', async () => {
  const company = await createCompany()
  const { from, chatId } = await written(company)
  const text = await scheduled(company, { recipient: from, type: 'text', text: 'Later', template: undefined })
  expect(text.chatId).toBe(chatId)
  await db`
    update conversations set last_inbound_at = now() - interval '25 hours'
    where (company_id, id) = (${company.companyId}, ${chatId})
  `
  expect(await go(company, text.id)).toMatchObject({
    status: 'failed',
    messageId: null,
    text: 'Later',
    error: { code: 'session_window_closed', message: 'The customer has not written within the last 24 hours' },
  })
  expect(await takenBy(from)).toEqual([])
  expect((await company.api('DELETE', `${SCHEDULED}/${text.id}`)).status).toBe(200)

  const opened = await written(company, from)
  const params = [
    { type: 'text', text: 'Ada' },
    { type: 'text', text: 'SAVE' },
  ]
  const offer = {
    type: 'template',
    template: { name: 'welcome_offer', components: [{ type: 'BODY', parameters: params }] },
  }
  const marketing = await scheduled(company, { recipient: opened.from, ...offer })
  const consent = { phone: from, marketingConsent: { whatsapp: false } }
  expect((await company.api('POST', '/contacts', consent)).status).toBe(200)
  expect(await go(company, marketing.id)).toMatchObject({ status: 'failed', error: { code: 'forbidden' } })

  const notice = await scheduled(company)
  await db`
    update templates set status = 'REJECTED'
    where company_id = ${company.companyId}
      and family_id = (select id from template_families where (company_id, name) = (${company.companyId}, 'shipping_notice'))
  `
  service.deps.templates.clear()
  expect(await go(company, notice.id)).toMatchObject({ status: 'failed', error: { code: 'template_not_approved' } })
})

/** The wait of a job that is to be tried again, in seconds. */
const untilRetry = (companyId: number, id: number) =>
  eventually(async () => {
    const [job] = await db<{ waitSeconds: number; attempts: number }[]>`
      select extract(epoch from due_at - now())::float8 as wait_seconds, attempts from jobs
      where (company_id, subject_id, kind) = (${companyId}, ${id}, 'message.send')
        and claim_id is null and attempts > 0 and due_at > now()
    `
    return job
  })

test('a message over the daily limit takes a place that comes back within the hour', async () => {
  const company = await createCompany({ sender: { dailyLimit: 1 } })
  const [first, second] = [await scheduled(company), await scheduled(company)]
  const sent = await go(company, first.id)
  expect(sent).toMatchObject({ status: 'sent' })
  await makeDue(company, second.id)
  expect((await untilRetry(company.companyId, second.id)).waitSeconds).toBeLessThanOrEqual(15)
  expect(await record(company, second.id)).toMatchObject({ status: 'scheduled', error: null })
  const [{ wamid }] = await takenBy(first.recipient)
  const status = { wamid, status: 'failed', errors: [{ code: 131026, title: 'Undeliverable' }] }
  await control('POST', '/status', status)
  await eventually(async () => {
    const limits = await db<{ used: number }[]>`select used from daily_limits where company_id = ${company.companyId}`
    return limits.every(({ used }) => used === 0)
  })
  expect(await go(company, second.id)).toMatchObject({ status: 'sent' })
})

test('a message over the daily limit for an hour fails with the reason', async () => {
  const company = await createCompany({ sender: { dailyLimit: 1 } })
  const [first, second] = [await scheduled(company), await scheduled(company)]
  await go(company, first.id)
  await makeDue(company, second.id, 3_500)
  expect((await untilRetry(company.companyId, second.id)).waitSeconds).toBeLessThanOrEqual(100)
  expect(await go(company, second.id, 3_600)).toMatchObject({
    status: 'failed',
    error: { code: 'rate_limit_exceeded', message: 'The daily limit of this sender is reached' },
  })
})

test.each([
  ['revoked', sql`revoked_at = now()`, 'The API key Shop key was revoked'],
  ['expired', sql`expires_at = now() - interval '1 second'`, 'The API key Shop key has expired'],
  [
    'narrowed',
    sql`permissions = '{ContactsUpsert}'`,
    'The API key Shop key needs the permission WhatsApp or Transactional',
  ],
])('a message of a key that was %s meanwhile fails, and the reason names the key', async (_, change, message) => {
  const company = await createCompany()
  const { id, recipient } = await scheduled(company)
  await db`update api_keys set ${change} where client_id = ${company.key.clientId}`
  await makeDue(company, id)
  await untilJobEnded(company.companyId, id)
  const [ended] = await db`select status, error from scheduled_messages where company_id = ${company.companyId}`
  expect(ended).toEqual({ status: 'failed', error: { code: 'forbidden', message } })
  expect(await takenBy(recipient)).toEqual([])
})

test('a reply needs the permission of replies when it goes', async () => {
  const company = await createCompany()
  const { chatId, from } = await written(company)
  const reply = { type: 'text', text: 'Later', sendAt: TOMORROW }
  const { id } = (await company.api('POST', `/whatsapp/conversations/${chatId}/messages`, reply)).body.data
  await db`update api_keys set permissions = '{Transactional}' where client_id = ${company.key.clientId}`
  await makeDue(company, id)
  await untilJobEnded(company.companyId, id)
  const [ended] = await db`select status, error from scheduled_messages where company_id = ${company.companyId}`
  expect(ended).toEqual({
    status: 'failed',
    error: { code: 'forbidden', message: 'The API key Shop key needs the permission WhatsApp' },
  })
  expect(await takenBy(from)).toEqual([])
})

test('a message of another key goes, also when a key of the same name was revoked', async () => {
  const company = await createCompany()
  const { id } = await scheduled(company)
  const another = { name: 'Shop key', permissions: ['WhatsApp'] }
  const key = (await service.operator('POST', `/companies/${company.companyId}/api-keys`, another)).body
  await service.operator('DELETE', `/companies/${company.companyId}/api-keys/${key.clientId}`)
  expect(await go(company, id)).toMatchObject({ status: 'sent' })
})

test('a message of a removed number or company fails with the reason', async () => {
  const [numberless, gone] = [await createCompany(), await createCompany()]
  const failing = [
    { company: numberless, path: `/senders/${numberless.sender.channelId}`, message: 'The sending number was removed' },
    { company: gone, path: '', message: 'The company was removed' },
  ]
  for (const { company, path, message } of failing) {
    const { id, recipient } = await scheduled(company)
    expect((await service.operator('DELETE', `/companies/${company.companyId}${path}`)).status).toBeLessThan(300)
    await makeDue(company, id)
    await untilJobEnded(company.companyId, id)
    const [ended] = await db`select status, error from scheduled_messages where company_id = ${company.companyId}`
    expect(ended).toMatchObject({ status: 'failed', error: { message } })
    expect(await takenBy(recipient)).toEqual([])
  }
})

test.each([
  ['a time that is past', { sendAt: '2026-01-01T00:00:00Z' }, 'must be in the future'],
  ['a time that is more than 30 days ahead', { sendAt: hoursAhead(30 * 24 + 1) }, 'must be at most 30 days ahead'],
  ['a second that is none', { sendAt: '2030-12-31T23:59:60Z' }, NO_INSTANT],
  ['a year before 1970', { sendAt: '0000-01-01T00:00:00Z' }, NO_INSTANT],
  ['no time', { sendAt: 'tomorrow' }, NO_INSTANT],
])('%s is answered 422', async (_, body, message) => {
  const company = await createCompany()
  const { status, body: answer } = await schedule(company, body)
  expect([status, answer.error.details.fields]).toEqual([422, [{ path: 'sendAt', message }]])
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

test('a message that the provider certainly did not take is sent again, for an hour', async () => {
  const company = await createCompany()
  const recipient = uniquePhone()
  const { id } = await scheduled(company, { recipient })
  const untilWaitingAgain = () =>
    eventually(async () => {
      const [job] = await db<{ attempts: number }[]>`
        select attempts from jobs
        where (company_id, subject_id, kind) = (${company.companyId}, ${id}, 'message.send') and claim_id is null
      `
      const { status, messageId } = await record(company, id)
      return job !== undefined && job.attempts > 0 && status === 'scheduled' && messageId === null
    })
  await control('PUT', '/behaviour', { refuseWithCode: 130429 })
  await makeDue(company, id)
  await untilWaitingAgain()
  await control('PUT', '/behaviour', { refuseWithCode: null })
  expect(await go(company, id)).toMatchObject({ status: 'sent' })
  expect(await takenBy(recipient)).toHaveLength(1)

  const late = await scheduled(company)
  await control('PUT', '/behaviour', { refuseWithCode: 130429 })
  expect(await go(company, late.id, 3_600)).toMatchObject({
    status: 'failed',
    error: { code: 'rate_limit_exceeded' },
  })
  await control('PUT', '/behaviour', { refuseWithCode: null })
})

test('a refusal of the provider is on the message', async () => {
  const company = await createCompany()
  const { id } = await scheduled(company)
  await control('PUT', '/behaviour', { refuseWithCode: 131026 })
  const ended = await go(company, id)
  await control('PUT', '/behaviour', { refuseWithCode: null })
  expect(ended).toMatchObject({ status: 'sent', error: null })
  const { body } = await company.api('GET', `/whatsapp/conversations/${ended.chatId}/messages/${ended.messageId}`)
  expect(body.data.message).toMatchObject({ status: 'failed', error: { code: 131026 } })
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
