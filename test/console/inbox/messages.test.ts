import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { eventually, uniquePhone } from '../../service.ts'
import { expectAccessible } from '../world/console-page.ts'
import { bubble, row, startConsoleWorld } from '../world/console-world.ts'

const { service, origin, company, write, conversationOf, sentTo, createReceiver, openSigned } =
  await startConsoleWorld()
const { control, db, operator } = service
const { companyId, key, api } = company

test('an agent answers by the keyboard alone: one message for two presses, and it is read', async () => {
  const phone = uniquePhone()
  await write(phone, 'Is it ready?', 'Grace Hopper')
  const chatId = await conversationOf(phone)
  const { page } = await openSigned()
  await row(page, 'Grace Hopper').waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await bubble(page, 'Is it ready?').waitFor()
  await page.keyboard.press('r')
  await page.keyboard.type('Yes: order A-10423')
  await page.keyboard.press('Control+Enter')
  await page.keyboard.press('Control+Enter')
  await bubble(page, 'Yes: order A-10423').waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('a')
  await page.getByText('Shop key (you)').first().waitFor()
  await page.keyboard.press('e')
  await page.getByRole('button', { name: 'Status of the conversation: Closed' }).waitFor()
  expect(await sentTo(phone)).toHaveLength(1)
  const { body } = await api('GET', `/whatsapp/conversations/${chatId}`)
  expect(body.data).toMatchObject({ status: 'closed', unreadMessages: 0, assignee: 'Shop key' })
})

test('each answer shows who sent it, also right below the answer of another agent', async () => {
  const phone = uniquePhone()
  await write(phone, 'Hello', 'Two Agents')
  const chatId = await conversationOf(phone)
  await api('POST', `/whatsapp/conversations/${chatId}/messages`, { type: 'text', text: 'From the shop' })
  const link = await operator('POST', `/companies/${companyId}/sign-in-links`, { name: 'Mara' })
  const { page } = await openSigned(`/console/inbox/${chatId}`, service.codeOf(link.body.url))
  for (const message of ['From Mara', 'Again from Mara']) {
    await page.getByLabel(/Message to/).fill(message)
    await page.getByRole('button', { name: 'Send' }).click()
    await bubble(page, message).waitFor()
  }
  const shown = page.locator('[data-message]')
  expect(await shown.allInnerTexts()).toEqual([
    expect.stringContaining('Hello'),
    expect.stringMatching(/^Shop key\n+From the shop/),
    expect.stringMatching(/^Mara\n+From Mara/),
    expect.stringMatching(/^Again from Mara/),
  ])
})

test('buttons, an address and contact cards are shown below their text', async () => {
  const phone = uniquePhone()
  await write(phone, 'Hello', 'Structured')
  const chatId = await conversationOf(phone)
  const send = (message: object) => api('POST', '/templates/whatsapp/send', { recipient: phone, ...message })
  const buttons = ['Yes', 'Not yet'].map((title) => ({ type: 'reply', reply: { id: title, title } }))
  const interactive = { type: 'button', body: { text: 'Ship it?' }, footer: { text: 'The shop' }, action: { buttons } }
  const location = { latitude: 45.5, longitude: 9.25, name: 'Shop', address: 'Via Roma 1' }
  const cards = [{ name: { formatted_name: 'Mara Rossi', first_name: 'Mara' }, phones: [{ phone: '+39 333' }] }]
  const replies = [
    await send({ type: 'interactive', interactive }),
    await send({ type: 'location', location }),
    await send({ type: 'contacts', contacts: cards }),
  ]
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200])
  const { page } = await openSigned(`/console/inbox/${chatId}`)
  await page.getByText('Mara Rossi').waitFor()
  const shown = await page.locator('[data-message]').allInnerTexts()
  expect(shown.slice(1)).toEqual([
    expect.stringMatching(/Ship it\?\s+The shop\s+Yes\s+Not yet/),
    expect.stringMatching(/Shop\s+Via Roma 1 · 45.5, 9.25/),
    expect.stringMatching(/^\s*Mara Rossi\s+\+39 333/),
  ])
  await expectAccessible(page)
})

test('a send whose answer is lost is asked for again with its key: one message, one bubble', async () => {
  const phone = uniquePhone()
  await write(phone, 'Hello', 'Lost Answer')
  const { page } = await openSigned(`/console/inbox/${await conversationOf(phone)}`)
  let isLost = false
  await page.route('**/conversations/*/messages', async (route) => {
    if (route.request().method() !== 'POST' || isLost) return route.continue()
    isLost = true
    await route.fetch()
    await route.abort()
  })
  await page.getByLabel(/Message to/).fill('Only once')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText('The answer was lost').waitFor()
  await page.getByText('The answer was lost').waitFor({ state: 'detached' })
  expect(isLost).toBe(true)
  expect(await page.getByRole('article').getByText('Only once', { exact: true }).count()).toBe(1)
  expect(await sentTo(phone)).toHaveLength(1)
})

test('a message with an unknown outcome is shown as unknown and is not sent again', async () => {
  // A number of its own: a provider that does not answer pauses the sends of the number.
  const own = await service.createCompany()
  const phone = uniquePhone()
  await write(phone, 'Hello', 'No Answer', own.phoneNumberId)
  const { page } = await openSigned(`/console/inbox/${await conversationOf(phone, own.api)}`, own.key.token)
  await control('PUT', '/behaviour', { resetBeforeAnswer: true })
  onTestFinished(() => void control('PUT', '/behaviour', {}))
  await page.getByLabel(/Message to/).fill('Is it there?')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText('Outcome unknown').waitFor()
  expect(await page.getByRole('button', { name: /Send again|Edit/ }).count()).toBe(0)
  expect(await sentTo(phone)).toHaveLength(1)
  await expectAccessible(page)
})

test('when the window closes, the template picker replaces the field, and a template is sent', async () => {
  const phone = uniquePhone()
  await write(phone, 'Hello', 'Window Closing')
  const chatId = await conversationOf(phone)
  const { page } = await openSigned()
  await db`
    update conversations set last_inbound_at = now() - interval '24 hours' + interval '8 seconds'
    where company_id = ${companyId} and id = ${chatId}`
  await page.goto(`${origin}/console/inbox/${chatId}`)
  await page.getByLabel(/Message to/).waitFor()
  await page.getByText('The 24-hour window is closed').waitFor()
  expect(await page.getByLabel(/Message to/).count()).toBe(0)
  await page.getByRole('button', { name: 'Choose a template' }).click()
  await page.getByRole('button', { name: /order_update en_US/ }).click()
  await expectAccessible(page)
  await page.getByLabel('{{1}}').fill('Ada')
  await page.getByLabel('{{2}}').fill('A-10423')
  await page.getByRole('button', { name: 'Send template' }).click()
  await bubble(page, 'Hello Ada, your order A-10423 has been updated.').waitFor()
  expect(await sentTo(phone)).toMatchObject([{ body: { type: 'template' } }])
})

test('hostile texts and names show as text, and the layout stays intact', async () => {
  const phone = uniquePhone()
  const html = '<img src=x onerror=alert(1)><script>alert(1)</script>'
  for (const text of [html, 'مرحبا بكم', '👩‍👩‍👧‍👦', 'x'.repeat(4_000)])
    await write(phone, text, `<b>${'N'.repeat(90)}</b>`)
  const chatId = await conversationOf(phone)
  await eventually(async () => (await api('GET', `/whatsapp/conversations/${chatId}/messages`)).body.data.length === 4)
  const { page } = await openSigned(`/console/inbox/${chatId}`, key.token, { viewport: { width: 360, height: 740 } })
  for (const text of [html, 'مرحبا بكم', '👩‍👩‍👧‍👦', 'xxxx']) await bubble(page, text).waitFor()
  expect(await fitsWindow(page)).toBe(true)
  await expectAccessible(page)
})

const fitsWindow = (page: Page) => page.evaluate('document.documentElement.scrollWidth <= innerWidth')

test('hostile file names and a payload of 100 kB show as text, and the layout stays intact', async () => {
  const receiver = await createReceiver('<i>Hostile</i>', `hostile-${companyId}`)
  const phone = uniquePhone()
  const filename = '<img src=x onerror=alert(1)> ملف 👩‍👧.pdf'
  const document = { id: '1', mime_type: 'application/pdf', sha256: 'x', filename, caption: 'y'.repeat(100_000) }
  await control('POST', '/inbound', { phoneNumberId: company.phoneNumberId, from: phone, type: 'document', document })
  const chatId = await conversationOf(phone)
  const { page } = await openSigned(`/console/inbox/${chatId}`, key.token, { viewport: { width: 360, height: 740 } })
  await page.locator('[data-message]').getByText('<img src=x onerror=alert(1)>').waitFor()
  expect(await fitsWindow(page)).toBe(true)
  await page.goto(`${origin}/console/receivers/${receiver.id}`)
  await page.getByRole('heading', { name: '<i>Hostile</i>' }).waitFor()
  await page.locator('[data-delivery]').first().click()
  await page.getByText('<img src=x onerror=alert(1)>').first().waitFor()
  expect(await page.getByRole('region', { name: 'payload' }).innerText()).toContain('yyyy')
  expect(await fitsWindow(page)).toBe(true)
  await expectAccessible(page)
})

test('a failing receiver: dead in the list, attempts and the sent bytes, redelivery with the number first', async () => {
  const name = `fails-${companyId}`
  await control('PUT', `/receivers/${name}/behaviour`, { statusCode: 500, body: 'sorry' })
  const receiver = await createReceiver('Shop webhook', name)
  const { page, context } = await openSigned(`/console/receivers/${receiver.id}`)
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.getByText('No deliveries in this period').waitFor()
  await write(uniquePhone(), 'for the receiver')
  await page.locator('[data-delivery]', { hasText: 'Pending' }).waitFor()
  await eventually(async () => {
    await db`update deliveries set due_at = now() where company_id = ${companyId} and status = 'pending' and due_at > now()`
    const rows = await db`select from deliveries where registration_id = ${receiver.id} and status = 'dead'`
    return rows.length === 1
  }, 300_000)
  await page.locator('[data-delivery]', { hasText: 'Dead' }).waitFor()
  await page.getByRole('button', { name: 'Delivered' }).click()
  await page.getByText('No delivery matches').waitFor()
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await page.locator('[data-delivery]').click()
  await page.getByRole('list', { name: 'Attempts' }).getByText('500').nth(4).waitFor()
  const requests = (await control('GET', `/receivers/${name}/requests`)).body
  await page.getByText('"for the receiver"').waitFor()
  await page.getByRole('button', { name: 'Copy', exact: true }).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(requests[0].body)
  await page.getByRole('button', { name: 'Dead', exact: true }).click()
  await page.getByRole('button', { name: 'Test' }).click()
  await page.getByRole('status', { name: 'Answer of the receiver' }).getByText('sorry').waitFor()
  await control('PUT', `/receivers/${name}/behaviour`, {})
  await page.getByRole('button', { name: 'Redeliver these' }).click()
  await page.getByText('1 delivery will be sent again').waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Redeliver 1 delivery' }).click()
  await page.getByText('1 delivery was enqueued again.').first().waitFor()
  const again = await eventually(async () => {
    const [newest] = (await control('GET', `/receivers/${name}/requests?limit=1`)).body
    return newest.headers['x-service-delivery'] === requests[0].headers['x-service-delivery'] ? newest : undefined
  })
  expect(again.body).toBe(requests[0].body)
})
