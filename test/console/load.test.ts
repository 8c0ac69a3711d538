import type { Page, Request } from 'playwright-core'
import { expect, test } from 'vitest'
import { uniquePhone } from '../service.ts'
import { bubble, row, startConsoleWorld } from './world/console-world.ts'

/** Files of a page until the first row of its inbox shows: the page itself, scripts, styles and pictures. */
const MAX_FILES = 12
/** How long the first reads of a page wait for its stream at most (console/first-reads.ts). */
const STREAM_WAIT_MS = 2_000
/** Longer than every timer that reads something again. */
const LATER_MS = 60_000

const { origin, write, conversationOf, openSigned } = await startConsoleWorld()
const phone = uniquePhone()
for (let customer = 1; customer < 10; customer += 1) await write(uniquePhone(), 'Hello', `Customer ${customer}`)
await write(phone, 'Hello', 'Last Customer')
const chatId = await conversationOf(phone)

const isOfApi = (url: string): boolean => new URL(url).pathname.startsWith('/console/api/')

test('the inbox takes at most twelve files, and its lists come compressed', async () => {
  const { page, context } = await openSigned('/console/receivers')
  // That page may still load files.
  await page.goto('about:blank')
  const devtools = await context.newCDPSession(page)
  await devtools.send('Network.setCacheDisabled', { cacheDisabled: true })
  const files: string[] = []
  const encodings = new Map<string, string | undefined>()
  page.on('response', (response) => {
    const { pathname } = new URL(response.url())
    if (isOfApi(response.url())) encodings.set(pathname, response.headers()['content-encoding'])
    else files.push(pathname)
  })
  await page.goto(`${origin}/console/inbox`)
  await row(page, 'Last Customer').waitFor()
  // Also with what follows the first rows.
  await page.getByTitle('Your session').waitFor()
  expect(files.length, files.join('\n')).toBeLessThanOrEqual(MAX_FILES)
  expect(encodings.get('/console/api/public/v1/whatsapp/conversations')).toBe('gzip')
})

/** The answers that a page read of the API of its company, the stream apart, and how often it did. */
function watchReads(page: Page): Map<string, number> {
  const reads = new Map<string, number>()
  page.on('request', (request: Request) => {
    const { pathname, search } = new URL(request.url())
    if (
      request.method() !== 'GET' ||
      !isOfApi(request.url()) ||
      pathname.endsWith('/events') ||
      pathname === '/console/api/session'
    )
      return
    reads.set(pathname + search, (reads.get(pathname + search) ?? 0) + 1)
  })
  return reads
}

test('a page reads each answer once, however late its stream begins', async () => {
  const { page, context } = await openSigned('/console/receivers')
  // That page may still have something to read.
  await page.goto('about:blank')
  const reads = watchReads(page)
  const beginning = Promise.withResolvers<void>()
  await context.route('**/events', async (route) => {
    await beginning.promise
    await route.continue()
  })
  await page.clock.install()
  // On a slow machine the page would stop waiting for its stream.
  await page.addInitScript(
    `const start = setTimeout; setTimeout = (act, ms) => ms === ${STREAM_WAIT_MS} ? 0 : start(act, ms)`,
  )
  await page.goto(`${origin}/console/inbox/${chatId}`)
  await page.getByRole('navigation').waitFor()
  beginning.resolve()
  await page.getByText('Live', { exact: true }).waitFor()
  // What is shown later than the clock is moved finds its answer outdated, and reads it again.
  await bubble(page, 'Hello').waitFor()
  await page.getByLabel('Message to').waitFor()
  await page.getByRole('link', { name: 'Open the contact' }).waitFor()
  await page.clock.fastForward(LATER_MS)
  await write(phone, 'Hello again', 'Last Customer')
  await row(page, 'Last Customer').getByText('Hello again').waitFor()
  // What is read again soon after a change is read now.
  await page.clock.fastForward(LATER_MS)
  await page.evaluate('fetch("/console/api/session")')
  expect(
    [...reads.values()].filter((count) => count > 1),
    [...reads].join('\n'),
  ).toEqual([])
  expect(reads.size).toBeGreaterThan(2)
})
