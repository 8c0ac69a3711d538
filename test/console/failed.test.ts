import { expect, test } from 'vitest'
import { bubble, row, startConsoleWorld, textOf } from './world/console-world.ts'

const { service, company, conversationWith, openSigned, sentTo } = await startConsoleWorld()
const { control } = service
const { api } = company

/** A conversation with an answer that the provider has accepted, and then reports as failed. */
async function failedAnswer(name: string, message: object, error: object) {
  const { chatId, path, phone } = await conversationWith(name, [textOf('Hello')])
  const sent = await api('POST', `/whatsapp/conversations/${chatId}/messages`, message)
  const { wamid, messageId } = sent.body.data
  const fail = () => control('POST', '/status', { wamid, status: 'failed', errors: [error] })
  return { chatId, path, phone, wamid, messageId, fail }
}

const UNDELIVERABLE = { code: 131026, title: 'Message undeliverable' }

test('a failed message shows its reason, and is sent again once, with a new key', async () => {
  const { path, phone, fail } = await failedAnswer('Grace Hopper', { type: 'text', text: 'Your order' }, UNDELIVERABLE)
  const { page } = await openSigned(path)
  await bubble(page, 'Your order').locator('[data-status="sent"]').waitFor()
  await row(page, 'Grace Hopper').locator('[data-status="sent"]').waitFor()
  await fail()
  await page.getByText('The number cannot be reached on WhatsApp. Message undeliverable (131026)').waitFor()
  await row(page, 'Grace Hopper').locator('[data-status="failed"]').waitFor()
  const keys: (string | undefined)[] = []
  page.on('request', (request) => {
    if (request.method() === 'POST' && request.url().endsWith('/messages'))
      keys.push(request.headers()['idempotency-key'])
  })
  await page.getByRole('button', { name: 'Send again' }).click()
  await bubble(page, 'Your order').nth(1).waitFor()
  expect(await page.getByRole('button', { name: 'Send again' }).count()).toBe(0)
  expect(await sentTo(phone)).toHaveLength(2)
  expect(keys).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)])
})

test('a failed text is edited and sent, and a draft is not lost', async () => {
  const { path, phone, fail } = await failedAnswer('Edited', { type: 'text', text: 'Teh order' }, { code: 131000 })
  await fail()
  const { page } = await openSigned(path)
  const field = page.getByLabel(/Message to/)
  await field.fill('And a draft')
  await page.getByRole('button', { name: 'Edit' }).click()
  expect(await field.inputValue()).toBe('Teh order\nAnd a draft')
  expect(await page.evaluate('document.activeElement.tagName')).toBe('TEXTAREA')
  await field.fill('The order')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await bubble(page, 'The order').waitFor()
  expect((await sentTo(phone)).map(({ body }) => body.text.body).sort()).toEqual(['Teh order', 'The order'])
})

test('a failed location is sent again as it was', async () => {
  const location = { latitude: 45.4642, longitude: 9.19, name: 'Duomo' }
  const { path, phone, fail } = await failedAnswer('A Place', { type: 'location', location }, UNDELIVERABLE)
  await fail()
  const { page } = await openSigned(path)
  await page.getByRole('button', { name: 'Send again' }).click()
  await bubble(page, 'Duomo').nth(1).waitFor()
  expect(await page.getByRole('button', { name: 'Edit' }).count()).toBe(0)
  expect(await sentTo(phone)).toMatchObject([{ body: { location } }, { body: { location } }])
})

test('nothing is sent again while the window is closed', async () => {
  const { path, chatId, fail } = await failedAnswer('Too Late', { type: 'text', text: 'Late' }, { code: 131047 })
  await fail()
  await service.db`
    update conversations set last_inbound_at = now() - interval '25 hours'
    where company_id = ${company.companyId} and id = ${chatId}`
  const { page } = await openSigned(path)
  await page.getByText('The 24-hour window was closed (131047)').waitFor()
  expect(await page.getByRole('button', { name: /Send again|Edit/ }).count()).toBe(0)
})

test('a template that failed is not offered again: its parameters are not stored', async () => {
  const parameters = ['Ada', 'A-1'].map((text) => ({ type: 'text', text }))
  const components = [{ type: 'BODY', parameters }]
  const template = { name: 'order_update', languageCode: 'en_US', components }
  const { path, fail } = await failedAnswer('A Template', { type: 'template', template }, UNDELIVERABLE)
  await fail()
  const { page } = await openSigned(path)
  await page.getByText('The number cannot be reached on WhatsApp').waitFor()
  expect(await page.getByRole('button', { name: /Send again|Edit/ }).count()).toBe(0)
})

test('the row of the list follows the ticks of the last message', async () => {
  const { chatId } = await conversationWith('Ticks', [textOf('Hello')])
  const { page } = await openSigned()
  await row(page, 'Ticks').waitFor()
  const sent = await api('POST', `/whatsapp/conversations/${chatId}/messages`, { type: 'text', text: 'Hi' })
  for (const status of ['sent', 'delivered', 'read']) {
    if (status !== 'sent') await control('POST', '/status', { wamid: sent.body.data.wamid, status })
    await row(page, 'Ticks').locator(`[data-status="${status}"]`).waitFor()
  }
})
