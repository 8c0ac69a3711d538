// The pictures of README.md, from the demo company of a fresh `npm start`:
// node scripts/readme-pictures.ts http://127.0.0.1:3000 http://127.0.0.1:3001 KEY
import type { Page } from 'playwright-core'
import { launchBrowser } from '../test/console/world/browser.ts'

const FOLDER = 'docs/images'
const NUMBER_ID = '100000000000001'
const WAIT_MS = 1_100

const [, , origin, sandbox, key] = process.argv
if (key === undefined) throw new Error('usage: node scripts/readme-pictures.ts SERVICE SANDBOX KEY')

const browser = await launchBrowser()
try {
  const viewport = { width: 1280, height: 760 }
  const page = await browser.newPage({ viewport, colorScheme: 'light', locale: 'en-GB', reducedMotion: 'reduce' })
  await page.goto(await createLink())
  await page.getByRole('navigation').waitFor()
  await takePhone(page)
  await takeInbox(page)
} finally {
  await browser.close()
}

/** The first steps of a newcomer: a chat, and the signed delivery of its newest message. */
async function takePhone(page: Page): Promise<void> {
  await page.goto(`${origin}/console/phone`)
  const phone = page.frameLocator('iframe').first()
  const business = page.getByRole('region', { name: 'What the business sees' })
  await phone.getByText('Hello, is my order ready?').waitFor()
  await answer(page, 'Yes, Ada. It left our warehouse this morning and arrives tomorrow before noon.')
  await business.locator('[data-status="read"]').waitFor()
  await phone.getByLabel('Write as Ada').fill('Perfect! Can I change the address?')
  await phone.getByLabel('Write as Ada').press('Enter')
  await business.getByText('Perfect!').waitFor()
  await page.frameLocator('iframe').last().getByText('Perfect!').first().waitFor()
  await page.screenshot({ path: `${FOLDER}/phone.png` })
}

/** An agent's inbox, with a conversation open. */
async function takeInbox(page: Page): Promise<void> {
  await write('12025550123', undefined, 'Hi')
  await write('971501234567', 'أحمد منصور', 'هل يمكنني تغيير عنوان التسليم؟')
  await write('33612345678', 'Amélie Laurent', 'Bonjour, livrez-vous aussi à Lyon ?')
  await write('4915112345678', 'Jonas Weber', 'Vielen Dank!')
  await write('447700900456', 'Grace Hopper', 'Could you send the invoice again?')
  await write('393335550199', 'Chiara Bianchi', 'Do you have the blue ones?')
  await write('393335550199', 'Chiara Bianchi', 'In size 42, if possible')
  await page.goto(`${origin}/console/inbox`)
  for (const [name, message] of [
    ['Jonas Weber', 'Gern geschehen!'],
    ['Grace Hopper', 'Of course: it is in your mailbox.'],
    ['Ada', 'Sure, which address should we use?'],
  ] as const) {
    await page.locator('[data-chat]', { hasText: name }).click()
    await page.getByRole('article', { name }).waitFor()
    // Rows move while the pointer is elsewhere.
    await page.mouse.move(900, 400)
    await answer(page, message)
  }
  await write('393331234567', 'Ada', 'Via Roma 12, second floor')
  await page.getByRole('article', { name: 'Ada' }).getByText('Via Roma 12').waitFor()
  await page.getByLabel(/Message to/).blur()
  await page.waitForTimeout(WAIT_MS)
  await page.screenshot({ path: `${FOLDER}/console.png` })
}

async function answer(page: Page, message: string): Promise<void> {
  await page.getByLabel(/Message to/).fill(message)
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.locator('[data-message]', { hasText: message }).locator('[data-status]').waitFor()
}

/** The provider's clock counts whole seconds: a message a second, so that the rows have an order. */
async function write(from: string, name: string | undefined, body: string): Promise<void> {
  const message = { phoneNumberId: NUMBER_ID, from, ...(name && { name }), type: 'text', text: { body } }
  await post(`${sandbox}/sandbox/inbound`, message)
  await new Promise((resume) => setTimeout(resume, WAIT_MS))
}

async function createLink(): Promise<string> {
  const { url } = Object(await post(`${origin}/public/v1/console/sign-in-links`, { name: 'Mara' }))
  return String(url)
}

async function post(url: string, body: object) {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`)
  return response.json()
}
