import { expect, onTestFinished, test } from 'vitest'
import { eventually, uniquePhone } from '../service.ts'
import { openPage } from './world/console-page.ts'
import { startConsoleWorld } from './world/console-world.ts'

const { service, browser, origin, company, write, conversationOf, createReceiver, openSigned } =
  await startConsoleWorld()

const { operator } = service
const { companyId, key } = company

test('a wrong and a revoked key are refused alike, and no storage or address holds a key', async () => {
  const revoked = await operator('POST', `/companies/${companyId}/api-keys`, { name: 'Old', permissions: ['WhatsApp'] })
  await operator('DELETE', `/companies/${companyId}/api-keys/${revoked.body.clientId}`)
  const { page, context, faults } = await openPage(browser, [origin])
  onTestFinished(() => context.close())
  await page.goto(`${origin}/console/`)
  await page.getByLabel('API key or token').waitFor()
  const texts: string[] = []
  for (const token of [`${key.token}x`, revoked.body.token]) {
    await page.getByLabel('API key or token').fill(token)
    await page.keyboard.press('Enter')
    texts.push(await page.getByText('is not valid').innerText())
    expect(await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])')).toBe('[{},{}]')
    expect(await page.evaluate('document.cookie')).toBe('')
    expect(page.url()).toBe(`${origin}/console/`)
  }
  expect(texts[0]).toBe(texts[1])
  expect(faults).toEqual([])
})

test('a page whose key is revoked signs out and says so', async () => {
  const own = await operator('POST', `/companies/${companyId}/api-keys`, { name: 'Short', permissions: ['WhatsApp'] })
  const { page } = await openSigned('/console/inbox', own.body.token)
  await operator('DELETE', `/companies/${companyId}/api-keys/${own.body.clientId}`)
  await page.getByText('Your session has ended').waitFor()
})

test('records of another company are not found, and nothing of them is in a response', async () => {
  const other = await service.createCompany()
  const phone = uniquePhone()
  await write(phone, 'okapi 7731', 'Eve', other.phoneNumberId)
  const chatId = await conversationOf(phone, other.api)
  const receiver = await createReceiver('Okapi', 'okapi', other)
  await write(phone, 'okapi 7732', 'Eve', other.phoneNumberId)
  const delivery = await eventually(async () => {
    const { body } = await other.api('GET', `/webhooks/registrations/${receiver.id}/deliveries`)
    return body.data[0]
  })
  const own = await createReceiver('Own', 'own')
  const { page } = await openSigned(`/console/inbox/${chatId}`)
  const bodies: Promise<string>[] = []
  page.on('response', (response) => {
    // The live stream has no end.
    if (!response.url().includes('/events')) bodies.push(response.text().catch(() => ''))
  })
  await page.reload()
  await page.getByText('Conversation not found').waitFor()
  await page.goto(`${origin}/console/receivers/${receiver.id}`)
  await page.getByText('Receiver not found').waitFor()
  await page.goto(`${origin}/console/receivers/${own.id}?delivery=${delivery.id}`)
  await page.getByText('Delivery not found').waitFor()
  await page.getByRole('button', { name: 'Back' }).click()
  await page.waitForURL(`${origin}/console/receivers/${own.id}`)
  await page.goto(`${origin}/console/inbox?channelId=${other.sender.channelId}`)
  await page.getByText('No conversation matches').waitFor()
  const texts = (await Promise.all(bodies)).join()
  expect(texts).toContain('"name":"Own"')
  expect(texts).not.toMatch(/okapi/i)
})

test('a session without the permission WhatsApp sees no inbox, and the page names the permission', async () => {
  const mail = await operator('POST', `/companies/${companyId}/api-keys`, {
    name: 'Mail',
    permissions: ['Transactional'],
  })
  const { page } = await openSigned('/console/inbox', mail.body.token)
  await page.getByText('Your session needs the permission WhatsApp.').waitFor()
  expect(await page.getByRole('link', { name: 'Inbox' }).count()).toBe(0)
})

test('a failure is shown with its message and tried again, and an address of no screen says so', async () => {
  const fresh = await service.createCompany({ isConnected: false })
  const { page, context } = await openSigned('/console/receivers', fresh.key.token)
  await page.getByText('No receiver yet').waitFor()
  const failWith = async (status: number) => {
    const answer = { status, headers: { 'retry-after': '2' }, contentType: 'application/json', body: '{}' }
    await context.route('**/webhooks/registrations', (route) => route.fulfill(answer))
    await page.reload()
  }
  await failWith(500)
  await page.getByText('The service had an error').waitFor()
  await context.unroute('**/webhooks/registrations')
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByText('No receiver yet').waitFor()
  await failWith(429)
  await page.getByText('Too many requests').waitFor()
  await context.unroute('**/webhooks/registrations')
  await page.getByText('No receiver yet').waitFor()
  await page.goto(`${origin}/console/no-such-screen`)
  await page.getByText('Nothing is at this address').waitFor()
  await context.setOffline(true)
  await page.getByText('You are offline').waitFor()
  await page.getByText('Not live', { exact: true }).waitFor()
})

test('a key works although a menu was open just before', async () => {
  const phone = uniquePhone()
  await write(phone, 'Hello', 'Popup Customer')
  const { page } = await openSigned(`/console/inbox/${await conversationOf(phone)}`)
  await page.getByRole('button', { name: /Status of the conversation/ }).click()
  await page.getByRole('menuitemradio', { name: 'Snoozed' }).waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('t')
  await page.getByRole('dialog').getByText('order_update').first().waitFor()
})
