import { expect, onTestFinished, test } from 'vitest'
import { readyFolder, runParley } from '../parley-process.ts'
import { eventually } from '../service.ts'
import { sharedBrowser } from './world/browser.ts'
import { buildConsole, expectAccessible, openPage } from './world/console-page.ts'

/** A fresh start with the sandbox, and a page that the printed link signs in. */
async function startPhone() {
  buildConsole()
  const parley = await runParley({
    DATA_DIR: await readyFolder(),
    SANDBOX: 'on',
    SANDBOX_PORT: '0',
    LOG_LEVEL: 'silent',
  })
  await parley.says('/sandbox/messages')
  const link = /Console: +(\S+)/.exec(parley.output())![1]!
  const sandbox = /http:\/\/127\.0\.0\.1:\d+(?=\/sandbox\/)/.exec(parley.output())![0]
  const browser = await sharedBrowser()
  const { context, page, faults } = await openPage(browser, [parley.address, sandbox])
  onTestFinished(() => context.close())
  return { parley, link, sandbox, page, faults }
}

test('from the printed link a newcomer chats, watches the signed delivery, and sees the answer read', async () => {
  const { parley, link, page, faults } = await startPhone()
  await page.goto(link)
  const phone = page.frameLocator('iframe[title="The customer’s phone"]')
  const receiver = page.frameLocator('iframe[title="What your receiver got"]')
  const business = page.getByRole('region', { name: 'What the business sees' })
  await phone.getByLabel('Write as Ada').fill('Is it ready?')
  await phone.getByRole('button', { name: 'Send' }).click()
  await business.getByText('Is it ready?').waitFor()
  await receiver.getByText('"Is it ready?"').first().waitFor()
  expect(await receiver.getByText('Signature valid').count()).toBeGreaterThan(0)
  await business.getByLabel(/Message to Ada/).fill('Yes!')
  await business.getByRole('button', { name: 'Send' }).click()
  await phone.getByText('Yes!').waitFor()
  await business.locator('[data-status="read"]').waitFor()
  await expectAccessible(page)
  await phone.getByLabel('Write as Ada').fill('Thank you')
  await page.keyboard.press('Enter')
  await business.getByRole('link', { name: 'Open in the inbox' }).click()
  await page.getByRole('article', { name: 'Ada' }).getByText('Thank you').waitFor()
  await page.getByRole('link', { name: 'Receivers' }).click()
  await page.getByRole('link', { name: /Demo receiver/ }).click()
  await page.locator('[data-delivery]', { hasText: 'Delivered' }).first().click()
  await page.getByText('"Thank you"').waitFor()
  expect(faults).toEqual([])
  await page.context().close()
  expect(await parley.signal('SIGTERM')).toBe(0)
}, 300_000)

test('on a small window the keyboard scrolls the panes, and Ada is found behind a hundred newer conversations', async () => {
  const { parley, link, sandbox, page, faults } = await startPhone()
  const wholeLists: string[] = []
  page.on('request', (request) => {
    const url = request.url()
    if (url.includes('/conversations?') && !/search=|unread=/.test(url)) wholeLists.push(url)
  })
  await page.setViewportSize({ width: 390, height: 844 })
  await page.goto(link)
  const business = page.getByRole('region', { name: 'What the business sees' })
  const phone = page.frameLocator('iframe[title="The customer’s phone"]')
  await phone.getByLabel('Write as Ada').fill('Is it ready?')
  await page.keyboard.press('Enter')
  await business.getByText('Is it ready?').waitFor()
  const written = await fetch(`${sandbox}/sandbox/inbound/batch`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ count: 120 }),
  })
  expect(written.status).toBe(200)
  await page.reload()
  await page.getByText('99+', { exact: true }).waitFor()
  await business.getByText('Is it ready?').waitFor()
  await page.getByRole('heading', { name: 'Phone', exact: true }).focus()
  await page.keyboard.press('Tab')
  const panes = 'section[aria-label="Phone, business and receiver"]'
  await page.locator(`${panes}:focus`).waitFor()
  await page.keyboard.press('End')
  await eventually(async () => Number(await page.evaluate(`document.querySelector('${panes}').scrollTop`)) > 0)
  expect(wholeLists).toEqual([])
  expect(faults).toEqual([])
  await page.context().close()
  expect(await parley.signal('SIGTERM')).toBe(0)
}, 300_000)

test('the customer taps buttons, rows and requests, and each answer names the message that asked', async () => {
  const { parley, link, page, faults } = await startPhone()
  await page.goto(link)
  const phone = page.frameLocator('iframe[title="The customer’s phone"]')
  const business = page.getByRole('region', { name: 'What the business sees' })
  await phone.getByLabel('Write as Ada').fill('Hello')
  await page.keyboard.press('Enter')
  await business.getByText('Hello', { exact: true }).waitFor()
  const token = /Bearer (PARLEY-[^']+)/.exec(parley.output())![1]
  const send = async (interactive: object) => {
    const answer = await fetch(`${parley.address}/public/v1/templates/whatsapp/send`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ recipient: '393331234567', type: 'interactive', interactive }),
    })
    const body = (await answer.json()) as { data: { messageId: number; chatId: number }; error?: unknown }
    expect([answer.status, body.error]).toEqual([200, undefined])
    return body.data
  }
  const newest = async (chatId: number) => {
    const answer = await fetch(`${parley.address}/public/v1/whatsapp/conversations/${chatId}/messages?pageSize=1`, {
      headers: { authorization: `Bearer ${token}` },
    })
    return ((await answer.json()) as { data: Record<string, unknown>[] }).data[0]!
  }
  const rows = [{ id: 'fri', title: 'Friday', description: '9 to 12' }]
  const cases: [object, string[], object][] = [
    [
      {
        type: 'button',
        header: { type: 'text', text: 'Order 1042' },
        body: { text: 'Is the size right?' },
        footer: { text: 'Rossi Shoes' },
        action: { buttons: [{ type: 'reply', reply: { id: 'yes', title: 'Yes, it is' } }] },
      },
      ['Yes, it is'],
      { kind: 'interactive', reply: { id: 'yes', title: 'Yes, it is' } },
    ],
    [
      {
        type: 'list',
        body: { text: 'When?' },
        action: { button: 'Choose a day', sections: [{ title: 'This week', rows }] },
      },
      ['Choose a day', 'Friday'],
      { kind: 'interactive', reply: { id: 'fri', title: 'Friday' } },
    ],
    [
      { type: 'location_request_message', body: { text: 'Where?' }, action: { name: 'send_location' } },
      ['Send location'],
      { kind: 'location', location: { name: 'Via del Corso 12' } },
    ],
    [
      { type: 'request_contact_info', body: { text: 'Your number?' }, action: { name: 'request_contact_info' } },
      ['Share phone number'],
      { kind: 'contacts' },
    ],
  ]
  for (const [interactive, taps, expected] of cases) {
    const { chatId, messageId } = await send(interactive)
    for (const name of taps) await phone.getByRole('button', { name }).click()
    await eventually(async () => (await newest(chatId)).direction === 'inbound')
    expect(await newest(chatId)).toMatchObject({ ...expected, quotedMessageId: messageId })
  }
  await send({
    type: 'cta_url',
    body: { text: 'On its way' },
    action: { name: 'cta_url', parameters: { display_text: 'Track it', url: 'https://shop.example.com/1042' } },
  })
  const opened = phone.getByRole('link', { name: 'Track it' })
  expect(await opened.getAttribute('href')).toBe('https://shop.example.com/1042')
  await phone.getByText('Rossi Shoes').waitFor()
  await expectAccessible(page)
  expect(faults).toEqual([])
  await page.context().close()
  expect(await parley.signal('SIGTERM')).toBe(0)
}, 300_000)
