// Pictures of each screen and state of the console, in light and dark, at 1440 and 390 px, in the folder `screenshots`. It
// needs a service with its sandbox (`npm start`) and data (`npm run seed`), and a key:
// node scripts/screenshots.ts http://127.0.0.1:3000 KEY [OPERATOR_TOKEN]
import { mkdir } from 'node:fs/promises'
import type { Browser, Page, Route } from 'playwright-core'
import { launchBrowser } from '../test/console/browser.ts'
import { answering, changing } from './changed-answers.ts'

const FOLDER = 'screenshots'
const SIZES = [
  { viewport: { width: 1440, height: 900 } },
  { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
]
const SCHEMES = ['light', 'dark'] as const
const PAUSE_MS = 500

const [, , origin = 'http://127.0.0.1:3000', token, operatorToken] = process.argv
if (token === undefined) throw new Error('usage: npm run screenshots -- http://127.0.0.1:3000 KEY [OPERATOR_TOKEN]')

type Camera = {
  page: Page
  take: (name: string) => Promise<void>
  open: (path: string, name?: string) => Promise<void>
}

await mkdir(FOLDER, { recursive: true })
const browser = await launchBrowser()
try {
  for (const size of SIZES) {
    for (const colorScheme of SCHEMES) await takeAll(browser, size, colorScheme, token)
  }
} finally {
  await browser.close()
}

async function takeAll(
  of: Browser,
  size: (typeof SIZES)[number],
  colorScheme: 'light' | 'dark',
  key: string,
): Promise<void> {
  const page = await of.newPage({ ...size, colorScheme, locale: 'en-GB', reducedMotion: 'reduce' })
  const take = async (name: string) => {
    await page.waitForTimeout(PAUSE_MS)
    await page
      .getByText('Connecting', { exact: true })
      .waitFor({ state: 'hidden', timeout: 3_000 })
      .catch(() => {})
    await page.screenshot({ path: `${FOLDER}/${name}-${size.viewport.width}-${colorScheme}.png` })
  }
  const open = async (path: string, name?: string) => {
    await page.goto(`${origin}${path}`)
    if (name === undefined) return
    await page.waitForTimeout(PAUSE_MS)
    await take(name)
  }
  const camera = { page, take, open }
  await shootSignIn(camera, key)
  await shootInbox(camera)
  await shootConversation(camera)
  await shootKinds(camera)
  await shootContacts(camera)
  await shootImports(camera)
  await shootReceivers(camera)
  await shootFailures(camera)
  await open('/console/phone', 'phone')
  if (operatorToken !== undefined) await shootOperator(camera, operatorToken)
  await page.context().close()
}

async function shootSignIn({ page, take, open }: Camera, key: string): Promise<void> {
  await open('/console/#code=used', 'sign-in-used-link')
  await open('/console/', 'sign-in')
  await page.getByLabel('API key or token').fill(`${key}x`)
  await page.keyboard.press('Enter')
  await page.getByText('is not valid').waitFor()
  await take('sign-in-refused')
  await page.getByLabel('API key or token').fill(key)
  await page.keyboard.press('Enter')
  await page.getByRole('navigation').waitFor()
}

async function shootInbox(camera: Camera): Promise<void> {
  const { page, take, open } = camera
  await open('/console/inbox?status=all', 'inbox')
  await page.getByLabel('Search contacts').fill('nobody has this name')
  await page.getByText('No conversation matches').waitFor()
  await take('inbox-no-match')
  const none = { data: [], pagination: { totalRecords: 0, nextCursor: null } }
  await answering(
    page,
    (route) => route.fulfill({ json: none }),
    () => open('/console/inbox', 'inbox-empty'),
  )
  await openLoading(camera, '/console/inbox', 'inbox-loading')
  await page.getByTitle('Your session').click()
  await take('session-menu')
  await page.getByRole('menuitem', { name: 'Sessions' }).click()
  await page.getByText('This session').waitFor()
  await take('sessions')
  await closeDialog(page)
  await page.keyboard.press('?')
  await page.getByRole('dialog').waitFor()
  await take('shortcuts')
}

async function shootConversation(camera: Camera): Promise<void> {
  const { page, take, open } = camera
  await open('/console/inbox?status=all')
  await page.locator('[data-chat]').first().click()
  await page.locator('[data-message]').first().waitFor()
  await take('conversation')
  const chat = new URL(page.url()).pathname
  await page
    .getByRole('button', { name: 'Contact details' })
    .click({ timeout: 1_000 })
    .catch(() => {})
  await take('contact')
  await open(chat)
  await page.getByRole('button', { name: /Status of the conversation/ }).click()
  await page.getByRole('menuitemradio').first().waitFor()
  await take('status-menu')
  await open(chat)
  await page
    .getByRole('button', { name: /emplate/ })
    .first()
    .click()
  await page.getByRole('dialog').getByRole('button', { name: /en_US/ }).first().waitFor()
  await take('templates')
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /order_update en_US/ })
    .click()
  await take('template-form')
  await page.getByRole('button', { name: 'Send template' }).click()
  await take('template-form-missing')
  await open('/console/inbox/999999', 'conversation-missing')
  await openLoading(camera, chat, 'conversation-loading')
  const window = { isOpen: false, closesAt: '2026-01-01T00:00:00.000Z' }
  const close = changing((conversation: object) => ({ ...conversation, window }))
  await page.route(`**${chat.replace('/console/inbox', '/conversations')}`, close)
  await open(chat, 'window-closed')
  await page.unrouteAll()
}

async function shootKinds({ page, take, open }: Camera): Promise<void> {
  await open('/console/inbox?status=all&search=Every%20Kind')
  await page.locator('[data-chat]').first().click()
  await page.getByText('Mara Rossi').waitFor()
  await take('kinds-end')
  await page.getByText('MUG-7').first().scrollIntoViewIfNeeded()
  await take('kinds')
  await page
    .getByRole('button', { name: /^Open Image/ })
    .first()
    .click()
  await page.getByRole('dialog').waitFor()
  await take('picture')
  await closeDialog(page)
  const failed = { status: 'failed', error: { code: 131026, title: 'Message undeliverable', details: null } }
  const fail = changing((messages: { direction: string }[]) =>
    messages.map((one) => ({ ...one, ...(one.direction === 'outbound' && failed) })),
  )
  await page.route(/\/conversations\/\d+\/messages/, fail)
  await open(new URL(page.url()).pathname, 'message-failed')
  await page.unrouteAll()
}

async function shootContacts(camera: Camera): Promise<void> {
  const { page, take, open } = camera
  await open('/console/contacts', 'contacts')
  await page.getByLabel('Search contacts').fill('nobody has this name')
  await page.getByText('No contact matches').waitFor()
  await take('contacts-no-match')
  await open('/console/contacts?search=customer19@example.com')
  await page.locator('[data-contact]').first().click()
  await page.getByRole('button', { name: 'Edit First name', exact: true }).waitFor()
  await take('contact-record')
  await page.getByRole('button', { name: 'Edit First name', exact: true }).click()
  await take('contact-edit')
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await page.getByRole('menuitem', { name: /Erase the person/ }).click()
  await page.getByRole('dialog').or(page.getByRole('alertdialog')).waitFor()
  await take('contact-erase')
  await closeDialog(page)
  await openLoading(camera, '/console/contacts', 'contacts-loading')
}

async function shootImports({ page, take, open }: Camera): Promise<void> {
  await open('/console/imports', 'imports')
  const rows = [
    'Email,First,Tier',
    'ada@example.org,Ada,gold',
    'not an email,Bruno,',
    'chiara@example.org,Chiara,silver',
  ]
  const file = { name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from(rows.join('\n')) }
  await page.locator('input[type=file]').setInputFiles(file)
  await page.getByText(/will be refused/).waitFor()
  await take('import-preview')
}

async function shootReceivers({ page, take, open }: Camera): Promise<void> {
  await open('/console/receivers', 'receivers')
  await answering(
    page,
    (route) => route.fulfill({ json: [] }),
    () => open('/console/receivers', 'receivers-empty'),
  )
  await page.getByRole('button', { name: 'Add receiver' }).first().click()
  await page.getByLabel('Signing secret').waitFor()
  await take('receiver-form')
  await open('/console/receivers')
  await page.locator('a[href*="/receivers/"]').last().click()
  await page.locator('[data-delivery]').first().waitFor()
  await take('receiver')
  const address = new URL(page.url()).pathname
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await take('receiver-menu')
  await page.getByRole('menuitem', { name: 'Edit' }).click()
  await page.getByLabel('Signing secret').waitFor()
  await take('receiver-edit')
  await closeDialog(page)
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Remove' }).click()
  await take('receiver-remove')
  await open(`${address}?status=pending`, 'receiver-no-match')
  await open(address)
  await page.getByRole('button', { name: 'Test' }).click()
  await page.getByRole('status', { name: 'Answer of the receiver' }).waitFor()
  await take('receiver-test')
  await page.getByRole('button', { name: 'Redeliver these' }).click()
  await page.getByRole('dialog').waitFor()
  await take('redeliver')
  await open(address)
  await page.locator('[data-delivery]').first().click()
  await page.getByRole('list', { name: 'Attempts' }).waitFor()
  await take('delivery')
  await page.getByRole('button', { name: 'Headers' }).click()
  await take('delivery-headers')
  await open(`${address}?delivery=999`, 'delivery-missing')
}

async function shootFailures({ page, take, open }: Camera): Promise<void> {
  const refuse =
    (status: number, error = {}) =>
    (route: Route) =>
      route.fulfill({ status, headers: { 'retry-after': '9', 'x-request-id': '5f1c2a7e90b34d18' }, json: { error } })
  const missing = { code: 'forbidden', message: 'The session needs the permission WhatsApp' }
  await answering(page, refuse(403, missing), () => open('/console/inbox', 'forbidden'))
  await answering(page, refuse(429), () => open('/console/inbox', 'too-many-requests'))
  await answering(page, refuse(500), async () => {
    await open('/console/inbox')
    await page.getByText('The service had an error').first().waitFor({ timeout: 20_000 })
    await take('failed')
  })
  await open('/console/inbox?status=all')
  await page.locator('[data-chat]').first().click()
  await page.context().setOffline(true)
  await take('offline')
  await page.context().setOffline(false)
  await open('/console/no-such-screen', 'not-found')
}

async function shootOperator({ page, take, open }: Camera, admin: string): Promise<void> {
  await page.context().clearCookies()
  await open('/console/')
  await page.getByLabel('API key or token').fill(admin)
  await page.keyboard.press('Enter')
  const company = page.getByRole('button', { name: /Act for/ }).first()
  await company.waitFor()
  await take('companies')
  await company.click()
  await page.locator('[data-chat]').first().waitFor()
  await take('acting')
}

async function closeDialog(page: Page): Promise<void> {
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
}

/** A screen whose answers are on their way. */
async function openLoading({ page, open }: Camera, path: string, name: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const hold = (route: Route) => promise.then(() => route.abort().catch(() => {}))
  await answering(page, hold, () => open(path, name))
  resolve()
}
