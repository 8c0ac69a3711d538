import { mkdir } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { ADMIN_TOKEN } from '../../api.ts'
import { axeFaults, openPage } from '../world/console-page.ts'
import { hold, refuse } from './changed-answers.ts'
import { STATES } from './screen-states.ts'
import { startStage } from './stage.ts'
import type { State, Who } from './state.ts'

/** A window and two phones. The console asks for the kind of the device when it draws, so that a loaded page can be turned. */
const DEVICES = [
  { name: 'window', sizes: [{ width: 1440, height: 900 }], hasTouch: false },
  {
    name: 'phone',
    sizes: [
      { width: 390, height: 844 },
      { width: 320, height: 844 },
    ],
    hasTouch: true,
  },
] as const
/** Where the pictures go; without it none is taken (`npm run screenshots`). */
const FOLDER = process.env.SCREENSHOTS
/** Controls and messages that stand out of the window. A part with a scrollbar of its own may hold more than fits. */
const OUTSIDE = `[...document.querySelectorAll('a, button, input, select, textarea, [data-message]')]
  .filter((one) => {
    const { left, right, width } = one.getBoundingClientRect()
    const scrolls = (part) => part !== null &&
      (/auto|scroll/.test(getComputedStyle(part).overflowX) && part.scrollWidth > part.clientWidth || scrolls(part.parentElement))
    return width > 1 && (right > innerWidth + 1 || left < -1) && !scrolls(one.parentElement)
  })
  .map((one) => one.outerHTML.slice(0, 200))`

if (FOLDER !== undefined) await mkdir(FOLDER, { recursive: true })
const stage = await startStage()
const { service, browser, origin, empty, one, full } = stage
/** What each signs in with. A link ends after ten minutes, so that it is made when it is used. */
const tokens: Record<Exclude<Who, 'signed-out'>, () => string | Promise<string>> = {
  empty: () => empty.key.token,
  one: () => one.key.token,
  full: () => full.key.token,
  agent: () => stage.link('agent'),
  developer: () => stage.link('developer'),
  operator: () => ADMIN_TOKEN,
  acting: () => ADMIN_TOKEN,
}
const cookies = new Map<Who, Promise<{ cookie: string }>>()
function cookieOf(who: Exclude<Who, 'signed-out'>): Promise<{ cookie: string }> {
  const signedIn = cookies.get(who) ?? signIn(who)
  cookies.set(who, signedIn)
  return signedIn
}
const signIn = async (who: Exclude<Who, 'signed-out'>) => service.signIn(await tokens[who]())

test.each(STATES.map((state) => [state.name, state] as const))('%s', async (_, state) => {
  const found: string[] = []
  const { context, page, faults } = await openPage(browser, [origin])
  page.on('console', (message) => {
    // Refusals are a part of the state.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) faults.push(message.text())
  })
  if (state.who !== 'signed-out') {
    const [name = '', value = ''] = (await cookieOf(state.who)).cookie.split('=')
    await context.addCookies([{ name, value, domain: '127.0.0.1', path: '/', httpOnly: true }])
  }
  for (const { name, sizes, hasTouch } of DEVICES) {
    await page.setViewportSize(sizes[0])
    await setTouch(page, hasTouch)
    if (!hasTouch || state.differsOnPhone) await reach(page, state)
    for (const size of sizes) await fitsIn(page, state, size)
    found.push(...(await axeFaults(page)).map((fault) => `${name} ${fault}`))
  }
  found.push(...faults)
  await context.close()
  expect(found).toEqual([])
})

test('axe finds a field without its label', async () => {
  const { context, page } = await openPage(browser, [origin])
  await page.goto(`${origin}/console/`)
  await page.getByLabel('API key or token').waitFor()
  await page.evaluate(`document.querySelector('label').remove()`)
  expect((await axeFaults(page)).join()).toContain('label')
  await context.close()
})

const shown = (page: Page, { shows }: State) => page.getByText(shows).filter({ visible: true }).first().waitFor()

async function reach(page: Page, state: State): Promise<void> {
  const { path, answers, prepare, open } = state
  const release = answers === 'slow' ? await hold(page) : undefined
  if (answers !== undefined && answers !== 'slow') await refuse(page, answers)
  await prepare?.(page)
  await page.goto(`${origin}${typeof path === 'string' ? path : path(stage)}`)
  if (release !== undefined) {
    await page.getByText('Loading', { exact: true }).filter({ visible: true }).first().waitFor()
    await takePicture(page, `${state.name}-skeleton`)
    release()
  }
  if (open !== undefined) {
    if (state.who !== 'signed-out') await page.getByTitle('Your session').waitFor()
    await open(page, stage)
  }
  await shown(page, state)
}

/** A touch screen, whose controls are larger. */
async function setTouch(page: Page, hasTouch: boolean): Promise<void> {
  const session = await page.context().newCDPSession(page)
  await session.send('Emulation.setTouchEmulationEnabled', { enabled: hasTouch })
  expect(await page.evaluate("matchMedia('(pointer: coarse)').matches")).toBe(hasTouch)
}

/** Turns the page into a window of this size, in which everything must fit; a popup takes a moment to follow. */
async function fitsIn(page: Page, state: State, size: { width: number; height: number }): Promise<void> {
  await page.setViewportSize(size)
  await shown(page, state)
  await expect.poll(() => page.evaluate(OUTSIDE)).toEqual([])
  await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(size.width)
  await takePicture(page, state.name)
}

async function takePicture(page: Page, name: string): Promise<void> {
  if (FOLDER === undefined) return
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme })
    await page.screenshot({ path: `${FOLDER}/${name}-${page.viewportSize()?.width}-${colorScheme}.png` })
  }
}
