import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { eventually, uniquePhone } from '../../service.ts'
import { openPage, signIn } from '../world/console-page.ts'
import { bubble, row, startConsoleWorld } from '../world/console-world.ts'
import { startSecondNode } from '../world/second-node.ts'

const CONVERSATIONS = 200_000
/** Rows of a list in the page, memory of the page, requests of its first view, and pages of the list that a jump reads. */
const MAX_ROWS = 60
const MAX_HEAP_BYTES = 60_000_000
const MAX_REQUESTS = 8
const MAX_PAGES = 3
const TABS = 7

const { service, browser, origin, company, write, conversationOf, openSigned } = await startConsoleWorld()
const { db } = service

const isLive = (page: Page) => page.getByText('Live', { exact: true }).waitFor()
const firstRow = (page: Page) => page.locator('[aria-posinset="1"] [data-chat]')

test('a message moves the row to the top, and counts and shows in two browsers without a reload', async () => {
  const [first, second] = [uniquePhone(), uniquePhone()]
  await write(first, 'Is it ready?', 'First Writer')
  const chatId = await conversationOf(first)
  await write(second, 'Good morning', 'Second Writer')
  await conversationOf(second)
  const reader = await openSigned(`/console/inbox/${chatId}`)
  const other = await openSigned('/console/inbox')
  for (const { page } of [reader, other]) {
    await firstRow(page).getByText('Second Writer').waitFor()
    await isLive(page)
  }
  let hasReloaded = false
  for (const { page } of [reader, other]) page.on('load', () => (hasReloaded = true))
  await write(first, 'Are you there?', 'First Writer')
  await bubble(reader.page, 'Are you there?').waitFor()
  for (const { page } of [reader, other]) await firstRow(page).getByText('First Writer').waitFor()
  // The reader has read it; the other row is unread.
  await row(other.page, 'Second Writer').getByText('1 unread', { exact: true }).waitFor({ state: 'attached' })
  await write(second, 'Hello?', 'Second Writer')
  for (const { page } of [reader, other]) {
    await row(page, 'Second Writer').getByText('2 unread', { exact: true }).waitFor({ state: 'attached' })
    await page
      .getByRole('link', { name: /^Inbox/ })
      .getByText('1', { exact: true })
      .waitFor()
  }
  expect(hasReloaded).toBe(false)
})

test('a contact that the API renames, and a number without conversations, show without a reload', async () => {
  const { key, api, companyId, phoneNumberId } = await service.createCompany()
  const phone = uniquePhone()
  await write(phone, 'Hello', 'Profile Name', phoneNumberId)
  const { page } = await openSigned(`/console/inbox/${await conversationOf(phone, api)}`, key.token)
  await row(page, 'Profile Name').waitFor()
  await isLive(page)
  const email = 'ada@example.com'
  await api('POST', '/contacts', { phone, firstName: 'Ada', lastName: 'Renamed', email })
  await row(page, 'Ada Renamed').waitFor()
  await page.getByRole('complementary').getByText(email).waitFor()
  const { body: second } = await service.connectSender(companyId)
  await page.getByRole('combobox', { name: 'Number' }).selectOption(second.phoneNumber)
  await page.waitForURL(new RegExp(`channelId=${second.channelId}`))
  await row(page, 'Ada Renamed').waitFor({ state: 'detached' })
})

test('a page without a stream says so and asks for news; one without a network has every message once afterwards', async () => {
  const phone = uniquePhone()
  await write(phone, 'Before the cut', 'Cut Off')
  const path = `/console/inbox/${await conversationOf(phone)}`
  const [replaced, refused] = [await openSigned(path), await openSigned(path)]
  for (const { page } of [replaced, refused]) {
    await bubble(page, 'Before the cut').waitFor()
    await isLive(page)
  }
  await replaced.context.route('**/console/api/**', (route) => route.abort())
  await refused.context.route('**/events', (route) => route.fulfill({ status: 503, body: '' }))
  service.app.server.closeAllConnections()
  const texts = Array.from({ length: 5 }, (_, n) => `Missed message ${n}`)
  for (const text of texts) await write(phone, text, 'Cut Off')
  for (const { page } of [replaced, refused]) await page.getByText('The live connection is down').waitFor()
  for (const text of texts) await bubble(refused.page, text).waitFor()
  expect(await replaced.page.locator('[data-message]').count()).toBe(1)
  for (const { context } of [replaced, refused]) await context.unrouteAll()
  for (const { page } of [replaced, refused]) await isLive(page)
  await write(phone, 'After the cut', 'Cut Off')
  for (const { page } of [replaced, refused]) {
    await bubble(page, 'After the cut').waitFor()
    for (const text of texts) await bubble(page, text).waitFor()
    const shown = await page.locator('[data-message]').allInnerTexts()
    expect(shown.map((text) => texts.findIndex((one) => text.includes(one)))).toEqual([-1, 0, 1, 2, 3, 4, -1])
  }
}, 300_000)

test('seven tabs of a browser share one stream, and another tab takes it when its tab closes', async () => {
  const { page, context } = await openSigned()
  const streams = watchStreams()
  await page.reload()
  const tabs = [page]
  for (let tab = 1; tab < TABS; tab += 1) {
    const opened = await context.newPage()
    await opened.goto(`${origin}/console/inbox`)
    tabs.push(opened)
  }
  for (const tab of tabs) {
    await tab.locator('[data-chat]').first().waitFor()
    await isLive(tab)
  }
  expect(streams.size).toBe(1)
  await page.close()
  await eventually(async () => streams.size === 1)
  const phone = uniquePhone()
  await write(phone, 'For all tabs', 'Tab Writer')
  for (const tab of tabs.slice(1)) await row(tab, 'Tab Writer').waitFor()
  expect(streams.size).toBe(1)
})

/** The open streams of the service from now on. */
function watchStreams(): Set<ServerResponse> {
  const streams = new Set<ServerResponse>()
  const watch = ({ url }: IncomingMessage, response: ServerResponse) => {
    if (!url?.includes('/events')) return
    streams.add(response)
    response.on('close', () => streams.delete(response))
  }
  service.app.server.on('request', watch)
  onTestFinished(() => void service.app.server.off('request', watch))
  return streams
}

test('a message that one node handles shows on a page of another node', async () => {
  const second = await startSecondNode(service)
  const phone = uniquePhone()
  await write(phone, 'To the first node', 'Two Nodes')
  const chatId = await conversationOf(phone)
  const { page, context, faults } = await openPage(browser, [second.origin])
  onTestFinished(() => context.close())
  await signIn(page, second.origin, company.key.token, `/console/inbox/${chatId}`)
  await bubble(page, 'To the first node').waitFor()
  await isLive(page)
  await write(phone, 'Again to the first node', 'Two Nodes')
  await bubble(page, 'Again to the first node').waitFor()
  await page.getByLabel(/Message to/).fill('From the second node')
  await page.getByRole('button', { name: 'Send' }).click()
  await bubble(page, 'From the second node').waitFor()
  expect(faults).toEqual([])
})

test('two hundred thousand conversations: the first rows, the middle and the end with few rows, requests and memory', async () => {
  const large = await service.createCompany()
  await fill(large.companyId, Number(large.sender.channelId))
  const { page, context } = await openSigned('/console/', large.key.token)
  const requests: string[] = []
  page.on('request', (request) => {
    if (request.url().includes('/console/api/')) requests.push(request.url())
  })
  await page.goto(`${origin}/console/inbox?status=all`)
  await row(page, 'Customer 1 of many').waitFor()
  expect(requests.length).toBeLessThanOrEqual(MAX_REQUESTS)
  await page.getByText('200,000 conversations').waitFor()
  await isLive(page)

  const jumpTo = async (index: number) => {
    requests.length = 0
    await page.evaluate(
      `(() => {
        const list = document.querySelector('[data-chat]').closest('ul')
        list.parentElement.scrollTop = list.scrollHeight * ${index / CONVERSATIONS}
      })()`,
    )
    const shown = page.locator(`[aria-posinset="${index}"]`)
    await shown.getByText(`Customer ${index} of many`).waitFor()
    expect(await shown.getAttribute('aria-setsize')).toBe(String(CONVERSATIONS))
    expect(await page.locator('[data-chat]').count()).toBeLessThanOrEqual(MAX_ROWS)
    // The live stream may have begun just before: then everything is read again.
    const pages = new Set(requests.filter((url) => url.includes('/conversations?page=')))
    expect(pages.size).toBeGreaterThan(0)
    expect(pages.size).toBeLessThanOrEqual(MAX_PAGES)
  }
  await jumpTo(CONVERSATIONS / 2)
  await jumpTo(CONVERSATIONS)
  const devtools = await context.newCDPSession(page)
  await devtools.send('HeapProfiler.collectGarbage')
  const { usedSize } = await devtools.send('Runtime.getHeapUsage')
  expect(usedSize).toBeLessThan(MAX_HEAP_BYTES)
}, 300_000)

/** Customers 1, 2, 3 …, the latest first. By SQL, since messages take too long. */
async function fill(companyId: number, senderId: number): Promise<void> {
  await db.begin(async (tx) => {
    // Without checks of foreign keys and without the search index, of which the list uses nothing.
    await tx`set local session_replication_role = replica`
    await tx`
      with contact as (
        insert into contacts (company_id, phone, first_name, last_name, source, source_type)
        select ${companyId}::bigint, (393310000000 + n)::text, 'Customer', n || ' of many', 'WhatsApp', 'service'
        from generate_series(1, ${CONVERSATIONS}::integer) as n
        returning company_id, id, phone
      ),
      customer as (
        insert into customers (company_id, contact_id, phone)
        select company_id, id, phone from contact
        returning company_id, id, phone
      ),
      conversation as (
        insert into conversations (
          company_id, sender_id, customer_id, message_count, last_text, last_direction, last_message_at,
          last_inbound_at
        )
        select
          company_id, ${senderId}, id, 1, 'Is it ready?', 'inbound', at, at
        from customer
        cross join lateral (select now() - (phone::bigint - 393310000000) * interval '1 second' as at) as ages
        returning company_id, id, last_message_at
      )
      insert into conversation_activity (company_id, conversation_id, active_at, sender_id)
      select company_id, id, last_message_at, ${senderId}
      from conversation`
    await tx`insert into conversation_counts (company_id, total) values (${companyId}, ${CONVERSATIONS})`
  })
  await db`analyze contacts, customers, conversations, conversation_activity`
}
