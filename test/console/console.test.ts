import type { Locator, Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { ADMIN_TOKEN } from '../api.ts'
import { eventually, uniquePhone } from '../service.ts'
import { openPage, signIn } from './world/console-page.ts'
import { bubble, startConsoleWorld } from './world/console-world.ts'

const { service, browser, origin, company, write, conversationOf, createReceiver } = await startConsoleWorld()

const { control, operator } = service
const { companyId } = company

test('a link signs in once, and its code leaves the address', async () => {
  const link = await operator('POST', `/companies/${companyId}/sign-in-links`, { name: 'Mara', path: '/console/inbox' })
  const first = await openPage(browser, [origin])
  const second = await openPage(browser, [origin])
  onTestFinished(async () => {
    await first.context.close()
    await second.context.close()
  })
  await first.page.goto(link.body.url)
  await first.page.getByTitle('Your session').getByText('Mara').waitFor()
  expect(first.page.url()).toBe(`${origin}/console/inbox`)
  await second.page.goto(link.body.url)
  await second.page.getByText('This link does not work any more').waitFor()
  expect(second.page.url()).toBe(`${origin}/console/inbox`)
  expect([...first.faults, ...second.faults]).toEqual([])
})

test('with the keyboard alone: sign in, third conversation, answer, close, redeliver, sign out', async () => {
  const own = await service.createCompany()
  const receiver = `keys-${own.companyId}`
  await createReceiver('Key shop', receiver, own)
  const phones = [uniquePhone(), uniquePhone(), uniquePhone()]
  for (const [index, phone] of phones.entries())
    await write(phone, `Order ${index}?`, `Key ${index}`, own.phoneNumberId)
  const received = async () => (await control('GET', `/receivers/${receiver}/requests`)).body as { headers: object }[]
  await eventually(async () => (await received()).length === 3)

  const { page, context, faults } = await openPage(browser, [origin])
  onTestFinished(() => context.close())
  const { keyboard } = page
  await page.goto(`${origin}/console/`)
  await page.getByLabel('API key or token').waitFor()
  await keyboard.type(own.key.token)
  await keyboard.press('Enter')
  const third = await page.locator('[aria-posinset="3"]', { hasText: 'Key' }).innerText()
  const index = Number(/Key (\d)/.exec(third)?.[1])
  for (const key of ['j', 'j', 'j', 'Enter']) await keyboard.press(key)
  await bubble(page, `Order ${index}?`).waitFor()
  await keyboard.press('r')
  await keyboard.type('Ready at noon')
  await keyboard.press('Control+Enter')
  await bubble(page, 'Ready at noon').waitFor()
  await keyboard.press('Escape')
  await keyboard.press('e')
  await page.getByRole('button', { name: 'Status of the conversation: Closed' }).waitFor()
  const chatId = await conversationOf(phones[index]!, own.api)
  expect((await own.api('GET', `/whatsapp/conversations/${chatId}`)).body.data.status).toBe('closed')

  for (const key of ['g', 'w']) await keyboard.press(key)
  await moveTo(page, page.getByRole('link', { name: /Key shop/ }))
  await keyboard.press('Enter')
  await moveTo(page, page.locator('[data-delivery]').first())
  await keyboard.press('Enter')
  await moveTo(page, page.getByRole('button', { name: 'Redeliver', exact: true }))
  await keyboard.press('Enter')
  await eventually(async () => (await received()).length === 4)
  await moveTo(page, page.getByTitle('Your session'))
  await keyboard.press('Enter')
  await moveTo(page, page.getByRole('menuitem', { name: 'Sign out' }), 'ArrowDown')
  await keyboard.press('Enter')
  await page.getByText('Sign in to Parley').waitFor()
  expect(await context.cookies()).toEqual([])
  expect(faults).toEqual([])
})

/** Presses the key until the control has the focus. */
async function moveTo(page: Page, control: Locator, key = 'Tab'): Promise<void> {
  await control.waitFor()
  for (let press = 0; press < 150; press += 1) {
    if ((await control.and(page.locator(':focus')).count()) > 0) return
    await page.keyboard.press(key)
  }
  throw new Error(`The focus did not reach ${control}`)
}

test('the operator chooses a company to act for, and a banner says so', async () => {
  await write(uniquePhone(), 'Hello')
  const { page, context } = await openPage(browser, [origin])
  onTestFinished(() => context.close())
  await signIn(page, origin, ADMIN_TOKEN)
  await page.getByRole('button', { name: 'Act for Acme' }).first().waitFor()
  await page.goto(`${origin}/console/inbox?as=${companyId}`)
  await page.getByText('You act for Acme').waitFor()
  await page.locator('[data-chat]').first().click()
  await page.locator('[data-message]').first().waitFor()
  expect(page.url()).toContain(`as=${companyId}`)
})

test('a style that is not of the console is reported: the control of the policy', async () => {
  const { page, context, faults } = await openPage(browser, [origin])
  onTestFinished(() => context.close())
  await page.goto(`${origin}/console/`)
  await page.evaluate("document.body.append(Object.assign(document.createElement('style'), { textContent: 'p{}' }))")
  await eventually(async () => faults.some((fault) => fault.startsWith('violation: style-src')))
})
