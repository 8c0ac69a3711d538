import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { eventually, uniquePhone } from '../../service.ts'
import { row, startConsoleWorld } from '../world/console-world.ts'

const { service, write, conversationOf, openSigned } = await startConsoleWorld()
const { control } = service

const isLive = (page: Page) => page.getByText('Live', { exact: true }).waitFor()
const names = (page: Page) => page.locator('[data-chat] bdi').allInnerTexts()

test('new customers are counted above a list that is in use, and appear on request', async () => {
  const { key, api, phoneNumberId } = await service.createCompany()
  const first = uniquePhone()
  await write(first, 'Hello', 'First Customer', phoneNumberId)
  await conversationOf(first, api)
  const { page } = await openSigned('/console/inbox', key.token)
  await row(page, 'First Customer').waitFor()
  await isLive(page)
  await row(page, 'First Customer').hover()
  for (const name of ['Second Customer', 'Third Customer']) {
    const phone = uniquePhone()
    await write(phone, 'Good morning', name, phoneNumberId)
    await conversationOf(phone, api)
  }
  const news = page.getByRole('button', { name: '2 new' })
  await news.waitFor()
  expect(await names(page)).toEqual(['First Customer'])
  // By the keyboard: the pointer stays where it is.
  await news.press('Enter')
  await row(page, 'Third Customer').waitFor()
  // Times have whole seconds, so the order of the two is open.
  const [second, third, last] = await names(page)
  expect([[second, third].toSorted(), last]).toEqual([['Second Customer', 'Third Customer'], 'First Customer'])
  await news.waitFor({ state: 'detached' })
  // The button is gone, and the focus is in the list.
  await page.locator('[data-chat]:focus').waitFor()
})

test('a customer with a profile name alone is found by that name, with and without accents', async () => {
  const { key, api, phoneNumberId } = await service.createCompany()
  for (const name of ['Márta Rössi', 'محمد علي', 'Grace Hopper']) {
    const phone = uniquePhone()
    await write(phone, 'Hello', name, phoneNumberId)
    await conversationOf(phone, api)
  }
  const { page } = await openSigned('/console/inbox', key.token)
  const search = page.getByLabel('Search contacts')
  for (const [query, found] of [
    ['marta', 'Márta Rössi'],
    ['RÖSSI', 'Márta Rössi'],
    ['محمد', 'محمد علي'],
    ['ace hop', 'Grace Hopper'],
  ] as const) {
    await search.fill(query)
    await expect.poll(() => names(page)).toEqual([found])
  }
})

test('unread conversations are counted up to 99, then 99+, also in title and icon', async () => {
  const { key, api, phoneNumberId } = await service.createCompany()
  const phones = Array.from({ length: 101 }, uniquePhone)
  const messages = phones.map((from, index) => ({
    ...{ phoneNumberId, from, name: `Customer ${index}`, type: 'text' },
    text: { body: 'Hello' },
  }))
  await control('POST', '/inbound/batch', messages.slice(0, 99))
  await conversationOf(phones[98]!, api)
  const unread = async () =>
    (await api('GET', '/whatsapp/conversations?unread=true&pageSize=100')).body.data.length as number
  await eventually(async () => (await unread()) === 99)
  const { page } = await openSigned('/console/inbox', key.token)
  const link = page.getByRole('link', { name: /^Inbox/ })
  const shows = async (count: string) => {
    await link.getByText(count, { exact: true }).waitFor()
    await eventually(async () => (await page.title()) === `(${count}) Inbox · Parley`)
    const icon = await page.locator('link[rel="icon"]').getAttribute('href')
    expect(decodeURIComponent(icon!)).toContain(`>${count}</text>`)
  }
  await isLive(page)
  await shows('99')
  await control('POST', '/inbound/batch', messages.slice(99))
  await shows('99+')
  // More than a page was unread: what is behind it is counted again.
  for (const phone of phones.slice(99)) {
    const chatId = await conversationOf(phone, api)
    await api('PATCH', `/whatsapp/conversations/${chatId}`, { unreadMessages: 0 })
  }
  await shows('99')
})
