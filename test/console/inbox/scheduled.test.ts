import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { uniquePhone } from '../../service.ts'
import { expectAccessible } from '../console-page.ts'
import { row, startConsoleWorld } from '../console-world.ts'

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
  await expectAccessible(page)

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
