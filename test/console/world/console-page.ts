import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { expect } from 'vitest'
import { newProfile } from './browser.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const SETUP = fileURLToPath(new URL('../../../scripts/setup.mjs', import.meta.url))
let isBuilt = false

/** Builds the console unless its build is up to date: once for the files of a worker. */
export function buildConsole(): void {
  if (!isBuilt) execFileSync(process.execPath, [SETUP, 'console'])
  isBuilt = true
}

/** A page of the console in a profile of its own, which keeps what must not happen on any page. */
export async function openPage(browser: Browser, origins: string[], options: BrowserContextOptions = {}) {
  // Each frame of an animation would be drawn.
  const defaults = { viewport: { width: 1440, height: 900 }, locale: 'en-GB', reducedMotion: 'reduce' } as const
  const context = await newProfile(browser, { ...defaults, ...options })
  const page = await context.newPage()
  const faults: string[] = []
  context.on('request', (request) => {
    const { protocol, origin } = new URL(request.url())
    if (protocol.startsWith('http') && !origins.includes(origin)) faults.push(`foreign request: ${request.url()}`)
  })
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`))
  await page.exposeFunction('reportViolation', (text: string) => faults.push(`violation: ${text}`))
  await page.addInitScript(
    `document.addEventListener('securitypolicyviolation', (event) =>
      reportViolation(event.violatedDirective + ' ' + event.blockedURI))`,
  )
  return { context, page, faults }
}

/** Opens the console and signs in with a key. */
export async function signIn(page: Page, origin: string, token: string, path = '/console/'): Promise<void> {
  await page.goto(`${origin}${path}`)
  await page.getByLabel('API key or token').fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('navigation').waitFor()
}

/** What fades in has too little contrast meanwhile. One without an end cannot be finished. */
const FINISH_ANIMATIONS = `document.getAnimations().forEach((one) => {
  if (one.effect?.getComputedTiming().endTime !== Infinity) one.finish()
})`

/** The rules whose outcome the colours decide: in dark, the others would repeat what they found in light. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block']

/**
 * The rules that the page and its frames break: those of WCAG 2.2 AA too, such as targets of 24 px; the ones about colours in
 * light and in dark.
 */
export async function axeFaults(page: Page): Promise<string[]> {
  const faults: string[] = []
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const options =
      colorScheme === 'light'
        ? { rules: { 'target-size': { enabled: true } } }
        : { runOnly: { type: 'rule', values: COLOUR_RULES } }
    for (const frame of page.frames()) {
      // A text is evaluated from outside, where the page's policy does not bind it.
      await frame.evaluate(FINISH_ANIMATIONS)
      if (!(await frame.evaluate("'axe' in window"))) await frame.evaluate(AXE)
      const found: string[] = await frame.evaluate(
        `axe.run(document, ${JSON.stringify({ iframes: false, resultTypes: ['violations'], ...options })})
          .then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0]?.html))`,
      )
      faults.push(...found.map((fault) => `${colorScheme} ${fault}`))
    }
  }
  return faults
}

export const expectAccessible = async (page: Page): Promise<void> => expect(await axeFaults(page)).toEqual([])
