import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { sampleOf } from '../../../sandbox/world/sample-media.ts'
import { uniquePhone } from '../../service.ts'
import { expectAccessible } from '../world/console-page.ts'
import { row, startConsoleWorld } from '../world/console-world.ts'

const { service, company, write, conversationOf, openSigned, sentTo } = await startConsoleWorld()
const { api } = company
const HOUR_MS = 3_600_000
const ahead = (hours: number) => new Date(Date.now() + hours * HOUR_MS).toISOString()

const scheduledIn = (page: Page) => page.locator('[data-scheduled]')

test('a conversation shows its scheduled messages, the next one first, and an agent cancels one', async () => {
  const phone = uniquePhone()
  await write(phone, 'Hello', 'Ada Lovelace')
  const chatId = await conversationOf(phone)
  const later = async (text: string, hours: number) => {
    const body = { type: 'text', text, sendAt: ahead(hours) }
    return (await api('POST', `/whatsapp/conversations/${chatId}/messages`, body)).body.data.id as number
  }
  const { page } = await openSigned(`/console/inbox/${chatId}`)
  await row(page, 'Ada Lovelace').waitFor()
  const scheduled = scheduledIn(page)
  expect(await scheduled.count()).toBe(0)

  // Another agent schedules: the stream brings it.
  const last = await later('In two hours', 2)
  await scheduled.filter({ hasText: 'In two hours' }).waitFor()
  const first = await later('In one hour', 1)
  await scheduled.filter({ hasText: 'In one hour' }).waitFor()
  const ids = await scheduled.evaluateAll((rows) => rows.map((one) => Number(one.getAttribute('data-scheduled'))))
  expect(ids).toEqual([first, last])
  expect(await scheduled.first().textContent()).toMatch(/In one hour.*Is sent on/)

  await scheduled.first().getByRole('button', { name: 'Cancel' }).click()
  await scheduled.filter({ hasText: 'In one hour' }).waitFor({ state: 'detached' })
  expect((await api('GET', `/whatsapp/scheduled-messages/${first}`)).status).toBe(404)

  // Its time comes, and the window has closed.
  await service.db`update conversations set last_inbound_at = now() - interval '25 hours' where id = ${chatId}`
  await service.db`update jobs set due_at = now() where kind = 'message.send' and subject_id = ${last}`
  const failed = scheduled.filter({ hasText: 'The customer has not written within the last 24 hours' })
  await failed.waitFor()
  await expectAccessible(page)
  await failed.getByRole('button', { name: 'Remove' }).click()
  await failed.waitFor({ state: 'detached' })
  expect(await sentTo(phone)).toEqual([])

  // One that goes becomes a message.
  await write(phone, 'Hello again', 'Ada Lovelace')
  const sent = await later('Now', 1)
  await scheduled.filter({ hasText: 'Now' }).waitFor()
  await service.db`update jobs set due_at = now() where kind = 'message.send' and subject_id = ${sent}`
  await page.locator('[data-message]', { hasText: 'Now' }).waitFor()
  await scheduled.waitFor({ state: 'detached' })
})

/** What the field for date and time has, in the zone of the page. */
const inField = (at: Date) => new Date(at.getTime() + 3 * HOUR_MS).toISOString().slice(0, 16)

test('an agent schedules a text, a file and a template, in the zone of the browser', async () => {
  const phone = uniquePhone()
  await write(phone, 'Hello', 'Grace Hopper')
  const chatId = await conversationOf(phone)
  const { page } = await openSigned(`/console/inbox/${chatId}`, company.key.token, { timezoneId: 'Asia/Riyadh' })
  const scheduled = scheduledIn(page)
  const later = page.getByRole('button', { name: 'Schedule for later' })
  const field = page.getByLabel(/Message to/)
  await field.waitFor()
  expect(await later.isDisabled()).toBe(true)
  await field.fill('In two hours')
  await later.click()
  const dialog = page.getByRole('dialog', { name: 'Send later' })
  await dialog.getByText('In your time zone: Asia/Riyadh').waitFor()
  const at = dialog.getByLabel('Date and time')
  const submit = dialog.getByRole('button', { name: 'Schedule' })
  await at.fill(inField(new Date(Date.now() - HOUR_MS)))
  await submit.click()
  await dialog.getByText('Choose a time in the future').waitFor()
  await at.fill(inField(new Date(Date.now() + 31 * 24 * HOUR_MS)))
  await dialog.getByText(/The 24-hour window closes on/).waitFor()
  await submit.click()
  await dialog.getByText('At most 30 days ahead').waitFor()
  await expectAccessible(page)
  const time = new Date(Date.now() + 2 * HOUR_MS)
  await at.fill(inField(time))
  await submit.click()
  await scheduled.filter({ hasText: 'In two hours' }).waitFor()
  expect(await field.inputValue()).toBe('')
  const list = async () => (await api('GET', `/whatsapp/scheduled-messages?chatId=${chatId}`)).body.data
  const [{ sendAt }] = await list()
  expect(sendAt.slice(0, 16)).toBe(time.toISOString().slice(0, 16))

  await page.locator('input[type=file]').setInputFiles({
    name: 'photo.png',
    mimeType: 'image/png',
    buffer: sampleOf('image/png').bytes,
  })
  await field.fill('A photo')
  await later.click()
  await dialog.getByRole('button', { name: 'Tomorrow at 9:00' }).click()
  await submit.click()
  await scheduled.filter({ hasText: 'A photo' }).waitFor()

  await page.keyboard.press('Escape')
  await page.keyboard.press('t')
  const form = page.getByRole('dialog').filter({ hasText: 'template' })
  await form.getByRole('button', { name: /order_update en_US/ }).click()
  await page.getByRole('button', { name: 'Schedule for later' }).last().click()
  await page.getByText('Enter a value.').first().waitFor()
  await page.getByLabel('Hello …, your order {{2}} has been updated.').fill('A-7')
  await page.getByRole('button', { name: 'Schedule for later' }).last().click()
  await dialog.getByRole('button', { name: 'In an hour' }).click()
  await submit.click()
  await scheduled.filter({ hasText: 'your order A-7' }).waitFor()
  expect((await list()).map(({ type }: { type: string }) => type).sort()).toEqual(['image', 'template', 'text'])
  expect(await sentTo(phone)).toEqual([])
})
