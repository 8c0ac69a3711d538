import { expect, test } from 'vitest'
import { eventually, uniquePhone } from '../../service.ts'
import { bubble, startConsoleWorld } from '../world/console-world.ts'

const { service, write, conversationOf, openSigned } = await startConsoleWorld()
const { control, createCompany, operator } = service

/** The receipts that the provider got for a number, oldest first. */
const receiptsOf = async (phoneNumberId: string): Promise<{ isTyping: boolean }[]> =>
  (await control('GET', '/receipts')).body
    .filter((one: { phoneNumberId: string }) => one.phoneNumberId === phoneNumberId)
    .reverse()

/** A company with a conversation that waits to be read. */
async function waiting(settings: object = {}) {
  const company = await createCompany()
  await operator('PATCH', `/companies/${company.companyId}`, settings)
  const phone = uniquePhone()
  const say = (text: string) => write(phone, text, 'Ada', company.phoneNumberId)
  await say('Hello')
  const chatId = await conversationOf(phone, company.api)
  const unread = async () => (await company.api('GET', `/whatsapp/conversations/${chatId}`)).body.data.unreadMessages
  const receipts = () => receiptsOf(company.phoneNumberId)
  return { company, say, unread, receipts, path: `/console/inbox/${chatId}` }
}

test('the customer sees that an agent with the focus reads, and at most every 20 s that one types', async () => {
  const { company, say, unread, receipts, path } = await waiting()
  const { page } = await openSigned('/console/receivers', company.key.token)
  // The focus is what the test says: a browser without a window always has it.
  await page.addInitScript(`
    window.isFocused = false
    document.hasFocus = () => window.isFocused
    window.setFocus = (isFocused) => {
      window.isFocused = isFocused
      dispatchEvent(new Event(isFocused ? 'focus' : 'blur'))
    }`)
  await page.clock.install()
  await page.goto(`${service.origin}${path}`)
  await bubble(page, 'Hello').waitFor()
  expect([await unread(), await receipts()]).toEqual([1, []])
  await page.evaluate('setFocus(true)')
  await eventually(async () => (await receipts()).length === 1)
  await eventually(async () => (await unread()) === 0)
  await say('Are you there?')
  await eventually(async () => (await receipts()).length === 2)
  expect(await receipts()).toMatchObject([{ isTyping: false }, { isTyping: false }])

  const field = page.getByLabel(/Message to/)
  await field.pressSequentially('Ye')
  await eventually(async () => (await receipts()).length === 3)
  await field.pressSequentially('s')
  await page.clock.fastForward(19_000)
  await field.pressSequentially('!')
  await page.clock.fastForward(2_000)
  await field.pressSequentially(' And')
  await eventually(async () => (await receipts()).length === 4)
  // A message ends it: the next one shows it again.
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await bubble(page, 'Yes! And').waitFor()
  await field.pressSequentially('more')
  await eventually(async () => (await receipts()).length === 5)
  expect((await receipts()).slice(2)).toMatchObject([{ isTyping: true }, { isTyping: true }, { isTyping: true }])
})

test('a company without read receipts reads and types unseen', async () => {
  const { company, unread, receipts, path } = await waiting({ readReceipts: false })
  const { page } = await openSigned(path, company.key.token)
  await bubble(page, 'Hello').waitFor()
  await eventually(async () => (await unread()) === 0)
  await page.getByLabel(/Message to/).pressSequentially('Yes')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await bubble(page, 'Yes').locator('[data-status]').waitFor()
  expect(await receipts()).toEqual([])
})

test('a conversation is read here although the provider does not take the mark', async () => {
  const { company, unread, path } = await waiting()
  const { page, context } = await openSigned('/console/receivers', company.key.token)
  await context.route('**/conversations/*/read', (route) => route.fulfill({ status: 503, body: '{}' }))
  await page.goto(`${service.origin}${path}`)
  await bubble(page, 'Hello').waitFor()
  await eventually(async () => (await unread()) === 0)
})
