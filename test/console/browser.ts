import chromium from '@sparticuz/chromium'
import { type Browser, chromium as playwright } from 'playwright-core'

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

let running: Promise<Browser> | undefined

/** The browser of the test files of this worker: a start takes a second of processor time. It ends with the worker. */
export async function sharedBrowser(): Promise<Browser> {
  const browser = await running
  if (browser?.isConnected()) return browser
  running = launchBrowser()
  return running
}
