import chromium from '@sparticuz/chromium'
import { type Browser, chromium as playwright } from 'playwright-core'

/** The Chromium that the packages carry, without a window and without calls home. */
export async function launchBrowser(): Promise<Browser> {
  return playwright.launch({
    executablePath: await chromium.executablePath(),
    args: [...chromium.args, '--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-sync'],
    headless: true,
  })
}
