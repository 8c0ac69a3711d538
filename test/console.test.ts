import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { Locator, Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { axeFaults, expectAccessible, openPage, signIn } from './console-page.ts'
import { bubble, row, startConsoleWorld } from './console-world.ts'
import { eventually, uniquePhone } from './service.ts'

const { service, browser, origin, company, write, conversationOf, sentTo, openSigned } = await startConsoleWorld()
const { control, db, operator } = service
const { companyId, key, api } = company

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
  await page.getByLabel('API key or token').waitFor()
  await expectAccessible(page)
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

const createReceiver = async (name: string, path: string): Promise<{ id: number }> => {
  const url = `${service.sandbox.url}/sandbox/receivers/${path}`
  const events = ['whatsapp.message.received']
  return (await api('POST', '/webhooks/registrations', { name, url, events, secret: 'a secret of 16 or more' })).body
}

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
  await write(phone, 'okapi 7732', 'Eve', other.phoneNumberId)
  const delivery = await eventually(async () => {
    const { body } = await other.api('GET', `/webhooks/registrations/${receiver.body.id}/deliveries`)
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
  await page.goto(`${origin}/console/receivers/${receiver.body.id}`)
  await page.getByText('Receiver not found').waitFor()
  await expectAccessible(page)
  await page.goto(`${origin}/console/receivers/${own.id}?delivery=${delivery.id}`)
  await page.getByText('Delivery not found').waitFor()
  await page.getByRole('button', { name: 'Back' }).click()
  await page.waitForURL(`${origin}/console/receivers/${own.id}`)
  await page.goto(`${origin}/console/inbox?channelId=${other.sender.channelId}`)
  await page.getByText('No conversation matches').waitFor()
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

test('each answer shows who sent it, also right below the answer of another agent', async () => {
  const phone = uniquePhone()
  await write(phone, 'Hello', 'Two Agents')
  const chatId = await conversationOf(phone)
  await api('POST', `/whatsapp/conversations/${chatId}/messages`, { type: 'text', text: 'From the shop' })
  const link = await operator('POST', `/companies/${companyId}/sign-in-links`, { name: 'Mara' })
  const { page } = await openSigned(`/console/inbox/${chatId}`, service.codeOf(link.body.url))
  for (const words of ['From Mara', 'Again from Mara']) {
    await page.getByLabel(/Message to/).fill(words)
    await page.getByRole('button', { name: 'Send' }).click()
    await bubble(page, words).waitFor()
  }
  const shown = page.locator('[data-message]')
  expect(await shown.allInnerTexts()).toEqual([
    expect.stringContaining('Hello'),
    expect.stringMatching(/^Shop key\n+From the shop/),
    expect.stringMatching(/^Mara\n+From Mara/),
    expect.stringMatching(/^Again from Mara/),
  ])
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
  }, 30_000)
  await page.locator('[data-delivery]', { hasText: 'Dead' }).waitFor()
  await page.getByRole('button', { name: 'Delivered' }).click()
  await page.getByText('No delivery matches').waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await page.locator('[data-delivery]').click()
  await page.getByRole('list', { name: 'Attempts' }).getByText('500').nth(4).waitFor()
  const requests = (await control('GET', `/receivers/${name}/requests`)).body
  await page.getByText('"for the receiver"').waitFor()
  await page.getByRole('button', { name: 'Copy', exact: true }).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(requests[0].body)
  await page.getByRole('button', { name: 'Dead', exact: true }).click()
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

test('with the keyboard alone: sign in, third conversation, answer, close, redeliver, sign out', async () => {
  const own = await service.createCompany()
  const receiver = `keys-${own.companyId}`
  const registration = { name: 'Key shop', url: `${service.sandbox.url}/sandbox/receivers/${receiver}` }
  await own.api('POST', '/webhooks/registrations', { ...registration, events: ['whatsapp.message.received'] })
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

test('a failure is told in words and tried again, and an address of no screen says so', async () => {
  const fresh = await service.createCompany({ isConnected: false })
  const { page, context } = await openSigned('/console/receivers', fresh.key.token)
  await page.getByText('No receiver yet').waitFor()
  const failWith = async (status: number) => {
    const answer = { status, headers: { 'retry-after': '2' }, contentType: 'application/json', body: '{}' }
    await context.route('**/webhooks/registrations', (route) => route.fulfill(answer))
    await page.reload()
  }
  await failWith(500)
  await page.getByText('The service had an error').waitFor({ timeout: 20_000 })
  await expectAccessible(page)
  await context.unroute('**/webhooks/registrations')
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByText('No receiver yet').waitFor()
  await failWith(429)
  await page.getByText('Too many requests').waitFor()
  await context.unroute('**/webhooks/registrations')
  await page.getByText('No receiver yet').waitFor()
  await page.goto(`${origin}/console/no-such-screen`)
  await page.getByText('Nothing is at this address').waitFor()
  await expectAccessible(page)
  await context.setOffline(true)
  await page.getByText('You are offline').waitFor()
  await page.getByText('Not live', { exact: true }).waitFor()
  await expectAccessible(page)
})

test('the menus and dialogs of a conversation and of a receiver are accessible', async () => {
  const own = await service.createCompany()
  const phone = uniquePhone()
  await own.api('POST', '/webhooks/registrations', {
    name: 'Popups',
    url: `${service.sandbox.url}/sandbox/receivers/popups`,
    events: ['whatsapp.message.received'],
  })
  await write(phone, 'Hello', 'Popup Customer', own.phoneNumberId)
  const chatId = await conversationOf(phone, own.api)
  const { page } = await openSigned(`/console/inbox/${chatId}`, own.key.token)
  await page.getByRole('button', { name: /Status of the conversation/ }).click()
  await page.getByRole('menuitemradio', { name: 'Snoozed' }).waitFor()
  await expectAccessible(page)
  await page.keyboard.press('Escape')
  // The key works although the menu was open just before.
  await page.keyboard.press('t')
  await page.getByRole('dialog').getByText('order_update').first().waitFor()
  await expectAccessible(page)
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.goto(`${origin}/console/receivers`)
  await page.getByRole('link', { name: /Popups/ }).click()
  for (const [item, words] of [
    ['Edit', 'Save'],
    ['Remove', 'Cancel'],
  ] as const) {
    await page.getByRole('button', { name: 'More', exact: true }).click()
    await page.getByRole('menuitem', { name: item }).waitFor()
    await expectAccessible(page)
    await page.getByRole('menuitem', { name: item }).click()
    await page.getByRole('button', { name: words, exact: true }).waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }
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
  await expectAccessible(page)
})

test('a style that is not of the console is reported: the control of the policy', async () => {
  const { page, context, faults } = await openPage(browser, [origin])
  onTestFinished(() => context.close())
  await page.goto(`${origin}/console/`)
  await page.evaluate("document.body.append(Object.assign(document.createElement('style'), { textContent: 'p{}' }))")
  await eventually(async () => faults.some((fault) => fault.startsWith('violation: style-src')))
})

test('the first load, the first inbox and each further screen stay within their sizes', () => {
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
  const screens = ['receivers/receivers.tsx', 'phone/phone-screen.tsx', 'operator/companies.tsx']
  for (const screen of screens) {
    const { file, css = [] } = manifest[screen]!
    expect(kilobytes([file, ...css]), screen).toBeLessThan(40)
  }
})
