import chromium from '@sparticuz/chromium'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium as playwright } from 'playwright-core'

/** Unpacks Chromium when that has not been done. One process at a time may: another would start an unfinished program. */
export const browserPath = (): Promise<string> => chromium.executablePath()

/**
 * The Chromium that the packages carry, without a window and without calls home. The flags that its package proposes turn
 * the rules about origins off.
 */
export async function launchBrowser(): Promise<Browser> {
  return playwright.launch({
    executablePath: await browserPath(),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--disable-background-networking',
      '--disable-sync',
    ],
    headless: true,
  })
}

/**
 * A profile of its own. A step that hangs is named before its test ends by time; the deadline says nothing about speed, and
 * a busy machine takes over 30 s to load a page.
 */
export async function newProfile(browser: Browser, options?: BrowserContextOptions): Promise<BrowserContext> {
  const context = await browser.newContext(options)
  context.setDefaultTimeout(120_000)
  return context
}

let running: Promise<Browser> | undefined

/** The browser of the test files of this worker: a start takes a second of processor time. It ends with the worker. */
export async function sharedBrowser(): Promise<Browser> {
  const browser = await running
  if (browser?.isConnected()) return browser
  running = launchBrowser()
  return running
}
