import { describe, expect, test } from 'vitest'
import { inboxOf, newWamid, secondsNow, textFrom } from '../provider-webhook.ts'
import { uniquePhone } from '../service.ts'
import { startInbound } from './inbound-world.ts'

const { service, company, provider, sendTo } = await startInbound()
const { db } = service
const { companyId, phoneNumberId } = company

const statusOf = (wamid: string, status: string, more: object = {}) => ({
  ...{ id: wamid, status, timestamp: String(secondsNow()), recipient_id: uniquePhone() },
  ...more,
})

describe('the status that the customer has stopped marketing', () => {
  const stopped = (wamid: string, code: number, more: object = {}) =>
    statusOf(wamid, 'failed', { errors: [{ code, title: 'User stopped marketing' }], ...more })
  const consentOf = async (phone: string) => {
    const { body } = await company.api('GET', `/contacts?search=${phone}`)
    return body.data[0].marketing_consent.whatsapp
  }
  const OFFER = {
    type: 'template',
    template: {
      name: 'welcome_offer',
      components: [
        {
          type: 'BODY',
          parameters: [
            { type: 'text', text: 'Ada' },
            { type: 'text', text: 'SAVE' },
          ],
        },
      ],
    },
  }
  const offer = (recipient: string) => company.api('POST', '/templates/whatsapp/send', { recipient, ...OFFER })

  test.each([131050, 1012])('is an opt-out, also without a recipient: %i', async (code) => {
    const to = uniquePhone()
    const { wamid } = await sendTo(to)
    await provider.messages(phoneNumberId, textFrom(to, 'Hello'))
    await provider.statuses(phoneNumberId, stopped(wamid, code, { recipient_id: undefined }))
    expect(await consentOf(to)).toBe(false)
    expect(await offer(to)).toMatchObject({ status: 403, body: { error: { code: 'forbidden' } } })
  })

  test('counts from the time of the status, and once', async () => {
    const to = uniquePhone()
    const { wamid } = await sendTo(to)
    const failed = stopped(wamid, 131050, { recipient_id: to, timestamp: String(secondsNow() - 60) })
    await company.api('POST', '/contacts', { phone: to, marketingConsent: { whatsapp: true } })
    await provider.statuses(phoneNumberId, failed)
    await provider.statuses(phoneNumberId, failed)
    expect(await consentOf(to)).toBe(true)
    const entries = await db`
      select value from consents where company_id = ${companyId} and identity = ${to} order by said_at
    `
    expect(entries).toEqual([{ value: false }, { value: true }])
  })

  test('is recorded before its message is known', async () => {
    const to = uniquePhone()
    await company.api('POST', '/contacts', { phone: to })
    await provider.statuses(phoneNumberId, stopped(newWamid(), 131050, { recipient_id: to }))
    expect(await consentOf(to)).toBe(false)
  })

  test('is an opt-out in the answer to a send as well', async () => {
    const to = uniquePhone()
    await provider.messages(phoneNumberId, textFrom(to, 'Hello'))
    await service.control('PUT', '/behaviour', { refuseWithCode: 131050 })
    const refused = await offer(to)
    await service.control('PUT', '/behaviour', { refuseWithCode: null })
    expect(refused.status).toBeGreaterThanOrEqual(400)
    expect(await consentOf(to)).toBe(false)
    expect((await offer(to)).status).toBe(403)
  })
})

test.each([
  [131026, 0],
  [131000, 1],
])('a message that fails with %i leaves %i places of the daily limit in use', async (code, used) => {
  const limited = await service.createCompany({ sender: { dailyLimit: 5 } })
  const { wamid } = await sendTo(uniquePhone(), limited)
  await provider.statuses(limited.phoneNumberId, statusOf(wamid, 'failed', { errors: [{ code, title: 'Failed' }] }))
  expect((await inboxOf(limited).list())[0].lastMessage).toBeDefined()
  const limits = await db`select used from daily_limits where company_id = ${limited.companyId}`
  expect(limits).toEqual([{ used }])
})
