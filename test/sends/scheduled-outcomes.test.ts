import { expect, test } from 'vitest'
import { sql } from '../../src/db/connect.ts'
import { NO_INSTANT } from '../../src/platform/text/instant.ts'
import { eventually, uniquePhone } from '../service.ts'
import { hoursAhead, record, SCHEDULED, schedule, scheduled, startScheduled, TOMORROW } from './scheduled-world.ts'

const { service, db, createCompany, control, makeDue, untilJobEnded, go, takenBy, written } = await startScheduled()

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
  service.deps.templates.drop()
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
