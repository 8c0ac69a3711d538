// Pictures of each screen of the console, in light and dark, at 1440 and 390 px, in the folder `screenshots`. It needs a
// service with its sandbox (`npm start`), and a link or key: node scripts/screenshots.ts http://127.0.0.1:3000 KEY
import { mkdir } from 'node:fs/promises'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser } from '../test/browser.ts'

const FOLDER = 'screenshots'
const SIZES = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
]
const SCHEMES = ['light', 'dark'] as const
const PAUSE_MS = 700

const [, , origin = 'http://127.0.0.1:3000', token] = process.argv
if (token === undefined) throw new Error('usage: npm run screenshots -- http://127.0.0.1:3000 KEY')

await mkdir(FOLDER, { recursive: true })
const browser = await launchBrowser()
try {
  for (const viewport of SIZES) for (const colorScheme of SCHEMES) await takeAll(browser, viewport, colorScheme, token)
} finally {
  await browser.close()
}

async function takeAll(
  browser: Browser,
  viewport: { width: number; height: number },
  colorScheme: 'light' | 'dark',
  key: string,
): Promise<void> {
  const page = await browser.newPage({ viewport, colorScheme, locale: 'en-GB' })
  const take = async (name: string) => {
    await page.waitForTimeout(PAUSE_MS)
    await page.screenshot({ path: `${FOLDER}/${name}-${viewport.width}-${colorScheme}.png` })
  }
  const open = async (path: string, name: string) => {
    await page.goto(`${origin}${path}`)
    await page.waitForTimeout(PAUSE_MS)
    await take(name)
  }
  await open('/console/', 'sign-in')
  await page.getByLabel('API key or token').fill(`${key}x`)
  await page.keyboard.press('Enter')
  await page.getByText('is not valid').waitFor()
  await take('sign-in-refused')
  await page.getByLabel('API key or token').fill(key)
  await page.keyboard.press('Enter')
  await page.getByRole('navigation').waitFor()
  await open('/console/inbox?status=all', 'inbox')
  await page.getByLabel('Search contacts').fill('nobody has this name')
  await take('inbox-no-match')
  await open('/console/inbox?status=all', 'inbox-again')
  await page.locator('[data-chat]').first().click()
  await take('conversation')
  await shootPopups(page, take)
  await open('/console/inbox/999999', 'conversation-missing')
  await open('/console/receivers', 'receivers')
  const receiver = page.locator('a[href*="/receivers/"]').first()
  if (await receiver.count()) {
    await receiver.click()
    await take('receiver')
    const delivery = page.locator('[data-delivery]').first()
    if (await delivery.count()) {
      await delivery.click()
      await take('delivery')
    }
  }
  await open('/console/phone', 'phone')
  await page.context().close()
}

/** The menus and dialogs of a conversation. */
async function shootPopups(page: Page, take: (name: string) => Promise<void>): Promise<void> {
  await page.getByRole('button', { name: /Status of the conversation/ }).click()
  await take('status-menu')
  await page.keyboard.press('Escape')
  await page.keyboard.press('t')
  await take('templates')
  await page.keyboard.press('Escape')
  await page.keyboard.press('?')
  await take('shortcuts')
  await page.keyboard.press('Escape')
  await page.getByTitle('Your session').click()
  await take('session-menu')
  await page.keyboard.press('Escape')
}
