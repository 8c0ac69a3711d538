import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { expectAccessible, openPage } from './world/console-page.ts'
import { startConsoleWorld } from './world/console-world.ts'

const { service, browser, origin, company, openSigned } = await startConsoleWorld()
const { operator, codeOf } = service

const createLink = async (companyId: number, body: object): Promise<string> =>
  (await operator('POST', `/companies/${companyId}/sign-in-links`, body)).body.url
const otherCompany = (await operator('POST', '/companies', { name: 'Stranger' })).body
const screens = (page: Page) => page.getByRole('navigation').getByRole('listitem').allInnerTexts()

async function open(url: string) {
  const opened = await openPage(browser, [origin])
  onTestFinished(async () => {
    await opened.context.close()
    expect(opened.faults).toEqual([])
  })
  await opened.page.goto(url)
  return opened
}

test('a link asks a signed-in user before it replaces the session, and names both companies', async () => {
  const { page, context } = await open(await createLink(company.companyId, { name: 'Mara', role: 'admin' }))
  await page.getByRole('navigation').waitFor()
  const other = await context.newPage()
  await other.goto(`${origin}/console/`)
  await other.getByRole('navigation').waitFor()

  const link = await createLink(otherCompany.id, { name: 'Eve', role: 'admin' })
  await page.goto('about:blank')
  await page.goto(link)
  await page.getByRole('heading', { name: 'Switch to another session?' }).waitFor()
  await page
    .getByText('You are signed in as Mara at Acme. This link signs you in as Eve at Stranger instead.')
    .waitFor()
  expect(page.url()).not.toContain(codeOf(link))
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Stay with Acme' }).click()
  await page.getByRole('navigation').getByText('Acme').first().waitFor()

  await page.goto('about:blank')
  await page.goto(link)
  await page.getByRole('button', { name: 'Switch to Stranger' }).click()
  await page.getByRole('navigation').getByText('Stranger').first().waitFor()
  // The other tab does not show the data of one company under the name of another.
  await other.getByRole('navigation').getByText('Stranger').first().waitFor()
})

test('a link that was used up meanwhile says so, and the session stays', async () => {
  const { page } = await open(await createLink(company.companyId, { name: 'Mara' }))
  await page.getByRole('navigation').waitFor()
  const link = await createLink(otherCompany.id, { name: 'Eve' })
  await page.goto('about:blank')
  await page.goto(link)
  const toOther = page.getByRole('button', { name: 'Switch to Stranger' })
  await toOther.waitFor()
  await service.signIn(codeOf(link))
  await toOther.click()
  await page.getByText('This link does not work any more').waitFor()
  await page.goto(`${origin}/console/`)
  await page.getByRole('navigation').getByText('Acme').first().waitFor()
})

test.each([
  ['agent', ['Inbox', 'Contacts'], [], '/console/receivers'],
  ['developer', ['Receivers'], ['API keys'], '/console/inbox'],
  ['admin', ['Inbox', 'Contacts', 'Receivers'], ['API keys', 'Sessions'], undefined],
])('a session of the role %s shows its screens alone', async (role, names, items, refused) => {
  const link = await createLink(company.companyId, { name: 'Mara', role })
  const { page } = await openSigned('/console/', codeOf(link))
  expect((await screens(page)).map((name) => name.split('\n')[0])).toEqual(names)
  await page.getByTitle('Your session').click()
  await page.getByRole('menuitem', { name: 'Sign out' }).waitFor()
  const shown = await page.getByRole('menuitem').allInnerTexts()
  expect(['API keys', 'Sessions'].filter((item) => shown.includes(item))).toEqual(items)
  await page.keyboard.press('Escape')
  if (refused === undefined) return
  await page.goto(`${origin}${refused}`)
  await page.getByText(/Your session needs the role \w+ or Admin\./).waitFor()
})

test('an admin creates a link with a role', async () => {
  const { page } = await openSigned()
  await page.getByTitle('Your session').click()
  await page.getByRole('menuitem', { name: 'Sessions' }).click()
  const form = page.getByRole('form', { name: 'New sign-in link' })
  await form.getByLabel('Name of the person').fill('Noa')
  await form.getByLabel('Role').selectOption('developer')
  await form.getByRole('button', { name: 'Create link' }).click()
  const link = await form.getByLabel('Sign-in link').inputValue()
  await expectAccessible(page)
  const { session } = await service.signIn(codeOf(link))
  expect(session).toMatchObject({ name: 'Noa', role: 'developer', company: { id: company.companyId } })
})

test('a developer reads the names of the API keys', async () => {
  const link = await createLink(company.companyId, { name: 'Mara', role: 'developer' })
  const { page } = await openSigned('/console/', codeOf(link))
  await page.getByTitle('Your session').click()
  await page.getByRole('menuitem', { name: 'API keys' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Shop key').waitFor()
  expect(await dialog.innerText()).not.toContain(company.key.clientId)
})
