import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { ADMIN_TOKEN } from '../api.ts'
import { eventually, uniquePhone } from '../service.ts'
import { expectAccessible, openPage, signIn } from './world/console-page.ts'
import { bubble, row, startConsoleWorld } from './world/console-world.ts'

const { service, browser, origin, write, conversationOf, openSigned } = await startConsoleWorld()
const { operator } = service

test('a row shows the draft of its conversation while one is stored', async () => {
  const own = await service.createCompany()
  const phones = [uniquePhone(), uniquePhone()]
  for (const phone of phones) await write(phone, 'Is it ready?', `Customer ${phone}`, own.phoneNumberId)
  const [first = 0, second = 0] = await Promise.all(phones.map((phone) => conversationOf(phone, own.api)))
  const { page } = await openSigned(`/console/inbox/${first}`, own.key.token)
  await page.getByLabel(/Message to/).fill('Come at noon')
  const rowOf = (chatId: number) => page.locator(`[data-chat="${chatId}"]`)
  await rowOf(second).click()
  await rowOf(first).getByText('Draft: Come at noon').waitFor()
  await expectAccessible(page)
  await page.reload()
  await rowOf(first).getByText('Draft: Come at noon').waitFor()
  await rowOf(first).click()
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await bubble(page, 'Come at noon').waitFor()
  await rowOf(first).getByText('You: Come at noon').waitFor()
})

const SCROLLER = `document.querySelector('ul[aria-label="Conversations"]').parentElement`
/** How far the list of conversations is scrolled. */
const placeOf = (page: Page): Promise<number> => page.evaluate(`${SCROLLER}.scrollTop`)

test('the list keeps its place over a reload and over the way to another screen and back', async () => {
  const own = await service.createCompany()
  // More than a page of the list, so that the place is known only when a second page is there.
  for (let index = 0; index < 70; index += 1) {
    await write(uniquePhone(), 'Hello', `Customer ${String(index).padStart(2, '0')}`, own.phoneNumberId)
  }
  await eventually(async () => (await own.api('GET', '/whatsapp/conversations')).body.pagination.totalRecords === 70)
  const { page } = await openSigned('/console/inbox', own.key.token)
  await row(page, 'Customer 69').waitFor()
  const deep = row(page, 'Customer 06')
  await eventually(async () => {
    await page.evaluate(`${SCROLLER}.scrollTo({ top: 3700 })`)
    return (await deep.count()) === 1 && (await placeOf(page)) === 3700
  })
  await page.reload()
  await deep.waitFor()
  await eventually(async () => (await placeOf(page)) === 3700)
  await deep.click()
  await bubble(page, 'Hello').waitFor()
  await page.getByRole('link', { name: 'Receivers' }).click()
  await page.getByText('No receiver yet').waitFor()
  await page.goBack()
  await deep.waitFor()
  await eventually(async () => (await placeOf(page)) === 3700)
  // Another filter starts at its top.
  await page.getByRole('button', { name: 'Unread' }).click()
  await row(page, 'Customer 69').waitFor()
  expect(await placeOf(page)).toBe(0)
})

test('the operator finds a company by name or id, the newest first, and the navigation names it', async () => {
  const names = ['Okapi Trading of the Far North and the Islands beyond', 'Quagga']
  const ids: number[] = []
  for (const name of names) ids.push((await operator('POST', '/companies', { name })).body.id)
  const { page, context, faults } = await openPage(browser, [origin])
  onTestFinished(() => context.close())
  await signIn(page, origin, ADMIN_TOKEN)
  const rows = page.getByRole('row')
  await rows.nth(1).getByText('Quagga').waitFor()
  await rows.nth(2).getByText('Okapi').waitFor()
  const search = page.getByRole('searchbox', { name: 'Search by name or id' })
  for (const [query, name] of [
    ['okapi', 'Okapi'],
    [String(ids[1]), 'Quagga'],
  ]) {
    await search.fill(query ?? '')
    await eventually(async () => (await rows.count()) === 2)
    await rows
      .nth(1)
      .getByText(name ?? '')
      .waitFor()
  }
  await search.fill('no such company')
  await page.getByText('No company matches').waitFor()
  await page.getByRole('button', { name: 'Clear the search' }).last().click()
  for (const width of [1440, 900, 390]) {
    await page.setViewportSize({ width, height: 844 })
    const wrapped = await page.evaluate(`[...document.querySelectorAll('tbody td')]
      .filter((cell) => cell.firstChild?.nodeType === Node.TEXT_NODE && cell.offsetParent !== null)
      .filter((cell) => {
        const range = document.createRange()
        range.selectNodeContents(cell)
        return range.getClientRects().length > 1
      }).map((cell) => cell.textContent)`)
    expect(wrapped).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  }
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.getByRole('button', { name: 'Act for Quagga' }).click()
  await page.getByRole('navigation').getByText('Quagga').waitFor()
  expect(faults).toEqual([])
})

test('the shortcuts are those of what the role may do', async () => {
  const own = await service.createCompany()
  const openAs = async (role: string) => {
    const link = await operator('POST', `/companies/${own.companyId}/sign-in-links`, { name: 'Mara', role })
    const { page } = await openSigned('/console/', service.codeOf(link.body.url))
    await page.getByRole('heading', { level: 1 }).waitFor({ state: 'attached' })
    await page.keyboard.press('?')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Use single-key shortcuts').waitFor()
    const shown = (await dialog.getByRole('definition').allInnerTexts()).map((keys) => keys.replaceAll(/\s/g, ''))
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    return { page, shown }
  }
  const agent = await openAs('agent')
  expect(agent.shown).toEqual(expect.arrayContaining(['gi', 'r', 'e']))
  expect(agent.shown).not.toContain('gw')
  for (const key of ['g', 'w']) await agent.page.keyboard.press(key)
  expect(new URL(agent.page.url()).pathname).toBe('/console/inbox')
  const developer = await openAs('developer')
  expect(developer.shown).toContain('gw')
  for (const key of ['gi', 'r', 'e']) expect(developer.shown).not.toContain(key)
})

test('the navigation leads from a record to the lists, and to no record with the same number', async () => {
  const own = await service.createCompany()
  const { body } = await own.api('POST', '/contacts', { email: 'ada@example.com' })
  const hrefs = async (path: string) => {
    const { page } = await openSigned(path, own.key.token)
    await page.getByTitle('Your session').waitFor()
    const links = await page.getByRole('navigation').getByRole('link').all()
    return Promise.all(links.map((link) => link.getAttribute('href')))
  }
  const lists = ['/console/inbox', '/console/contacts', '/console/receivers']
  expect(await hrefs(`/console/contacts/${body.data[0].id}`)).toEqual(lists)
  expect(await hrefs(`/console/imports/${body.data[0].id}`)).toEqual(lists)
})
