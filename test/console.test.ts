import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { launchBrowser } from './browser.ts'
import { startConsole } from './console-client.ts'
import { axeFaults, buildConsole, expectAccessible, openPage, signIn } from './console-page.ts'
import { eventually, uniquePhone } from './service.ts'

buildConsole()
const service = await startConsole({ config: { webhookAllowPrivate: true } })
const browser = await launchBrowser()
afterAll(() => browser.close())
const { origin, control, db, operator } = service
const { companyId, key, api, phoneNumberId } = await service.createCompany()

const write = (from: string, body: string, name = 'Ada Lovelace', number = phoneNumberId) =>
  control('POST', '/inbound', { phoneNumberId: number, from, name, type: 'text', text: { body } })
const conversationOf = async (phone: string, as = api): Promise<number> =>
  eventually(async () => {
    const { body } = await as('GET', '/whatsapp/conversations?pageSize=100')
    return body.data.find(({ contact }: { contact: { phone: string } }) => contact.phone === phone)?.chatId
  })
/** The session of each key: an address may sign in ten times a minute. */
const cookies = new Map<string, Awaited<ReturnType<BrowserContext['cookies']>>>()

/** A page that is signed in; when the test ends, it must have kept the rules of the console. */
async function openSigned(path = '/console/inbox', token = key.token, options = {}) {
  const opened = await openPage(browser, [origin], options)
  onTestFinished(async () => {
    await opened.context.close()
    expect(opened.faults).toEqual([])
  })
  const known = cookies.get(token)
  if (known === undefined) {
    await signIn(opened.page, origin, token, path)
    cookies.set(token, await opened.context.cookies())
  } else {
    await opened.context.addCookies(known)
    await opened.page.goto(`${origin}${path}`)
  }
  return opened
}
const row = (page: Page, name: string) => page.locator('[data-chat]', { hasText: name })
const bubble = (page: Page, words: string) => page.locator('[data-message]', { hasText: words })
const sentTo = async (phone: string): Promise<unknown[]> =>
  (await control('GET', '/messages?limit=1000')).body.filter(({ to }: { to: string }) => to.endsWith(phone))

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
  await expectAccessible(second.page)
  expect([...first.faults, ...second.faults]).toEqual([])
})

test('a wrong and a revoked key are refused alike, and no storage or address holds a key', async () => {
  const revoked = await operator('POST', `/companies/${companyId}/api-keys`, { name: 'Old', permissions: ['WhatsApp'] })
  await operator('DELETE', `/companies/${companyId}/api-keys/${revoked.body.clientId}`)
  const { page, context, faults } = await openPage(browser, [origin])
  onTestFinished(() => context.close())
  await page.goto(`${origin}/console/`)
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
  await page.getByText('Your session has ended').waitFor({ timeout: 25_000 })
})

test('records of another company are not found, and nothing of them is in a response', async () => {
  const other = await service.createCompany()
  const phone = uniquePhone()
  await write(phone, 'okapi 7731', 'Eve', other.phoneNumberId)
  const chatId = await conversationOf(phone, other.api)
  const receiver = await other.api('POST', '/webhooks/registrations', {
    name: 'Okapi',
    url: `${service.sandbox.url}/sandbox/receivers/okapi`,
    events: ['whatsapp.message.received'],
  })
  const { page } = await openSigned(`/console/inbox/${chatId}`)
  const bodies: Promise<string>[] = []
  page.on('response', (response) => {
    // The live stream has no end.
    if (!response.url().includes('/events')) bodies.push(response.text().catch(() => ''))
  })
  await page.reload()
  await page.getByText('Conversation not found').waitFor()
  await page.goto(`${origin}/console/receivers/${receiver.body.id}`)
  await page.getByText('Receiver not found').waitFor()
  await expectAccessible(page)
  expect((await Promise.all(bodies)).join()).not.toMatch(/okapi/i)
})

test('a session without the permission WhatsApp sees no inbox, and the page names the permission', async () => {
  const mail = await operator('POST', `/companies/${companyId}/api-keys`, {
    name: 'Mail',
    permissions: ['Transactional'],
  })
  const { page } = await openSigned('/console/inbox', mail.body.token)
  await page.getByText('Your session needs the permission WhatsApp.').waitFor()
  expect(await page.getByRole('link', { name: 'Inbox' }).count()).toBe(0)
  await expectAccessible(page)
})

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
  await page.getByLabel('Body 1').fill('Ada')
  await page.getByLabel('Body 2').fill('A-10423')
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
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  await expectAccessible(page)
})

test('a failing receiver: dead in the list, attempts and the sent bytes, redelivery with the number first', async () => {
  const name = `fails-${companyId}`
  await control('PUT', `/receivers/${name}/behaviour`, { statusCode: 500, body: 'sorry' })
  const registration = { name: 'Shop webhook', url: `${service.sandbox.url}/sandbox/receivers/${name}` }
  const { body: receiver } = await api('POST', '/webhooks/registrations', {
    ...registration,
    events: ['whatsapp.message.received'],
    secret: 'a secret of 16 or more',
  })
  await write(uniquePhone(), 'for the receiver')
  await eventually(async () => {
    await db`update deliveries set due_at = now() where company_id = ${companyId} and status = 'pending' and due_at > now()`
    const rows = await db`select from deliveries where registration_id = ${receiver.id} and status = 'dead'`
    return rows.length === 1
  }, 30_000)
  const { page } = await openSigned(`/console/receivers/${receiver.id}?status=dead`)
  await page.locator('[data-delivery]').click()
  await page.getByRole('list', { name: 'Attempts' }).getByText('500').nth(4).waitFor()
  const requests = (await control('GET', `/receivers/${name}/requests`)).body
  await page.getByRole('button', { name: 'Copy', exact: true }).waitFor()
  await page.getByText('"for the receiver"').waitFor()
  await expectAccessible(page)
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

test('empty screens and every popup are accessible, in light and dark', async () => {
  const fresh = await service.createCompany({ isConnected: false })
  const { page } = await openSigned('/console/inbox', fresh.key.token)
  await page.getByText('No conversations yet').waitFor()
  await expectAccessible(page)
  await page.getByRole('combobox', { name: 'Status' }).selectOption('Closed')
  await page.getByText('No conversation matches').waitFor()
  await expectAccessible(page)
  await page.getByTitle('Your session').click()
  await page.getByRole('menuitem', { name: 'Sessions' }).waitFor()
  await expectAccessible(page)
  await page.getByRole('menuitem', { name: 'Sessions' }).click()
  await page.getByText('This session').waitFor()
  await expectAccessible(page)
  await page.keyboard.press('Escape')
  await page.keyboard.press('?')
  await page.getByText('Use single-key shortcuts').waitFor()
  await expectAccessible(page)
  await page.keyboard.press('Escape')
  await page.getByRole('link', { name: 'Receivers' }).click()
  await page.getByText('No receiver yet').waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Add receiver' }).first().click()
  await page.getByLabel('Signing secret').waitFor()
  await expectAccessible(page)
  // The control: axe finds a field without its label.
  await page.evaluate(`document.querySelector('label').remove()`)
  expect((await axeFaults(page)).join()).toContain('label')
})

test('the operator chooses a company to act for, and a banner says so', async () => {
  const { page } = await openPage(browser, [origin]).then(async (opened) => {
    onTestFinished(() => opened.context.close())
    await signIn(opened.page, origin, 'operator-token-for-tests-0123456789')
    return opened
  })
  await page.getByRole('button', { name: 'Act for Acme' }).first().waitFor()
  await expectAccessible(page)
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

test('the first load and the first inbox stay within their sizes', () => {
  const dist = fileURLToPath(new URL('../console/dist/', import.meta.url))
  const manifest: Record<string, { file: string; imports?: string[]; css?: string[] }> = JSON.parse(
    readFileSync(`${dist}.vite/manifest.json`, 'utf8'),
  )
  const filesOf = (name: string, found = new Set<string>()): Set<string> => {
    const { file, imports = [], css = [] } = manifest[name]!
    for (const one of [file, ...css]) found.add(one)
    for (const one of imports) filesOf(one, found)
    return found
  }
  const kilobytes = (files: Iterable<string>) =>
    [...files].reduce((sum, file) => sum + gzipSync(readFileSync(dist + file), { level: 9 }).length, 0) / 1000
  const shell = filesOf('index.html')
  const scripts = [...shell].filter((file) => file.endsWith('.js'))
  expect(kilobytes(scripts)).toBeLessThan(125)
  const inbox = new Set([...shell, ...filesOf('inbox/inbox.tsx')])
  expect(kilobytes(inbox)).toBeLessThan(200)
})
