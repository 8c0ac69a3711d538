import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { expectAccessible } from '../world/console-page.ts'
import { bubble, startConsoleWorld, textOf } from '../world/console-world.ts'

const { conversationWith, openSigned } = await startConsoleWorld()

const file = (type: string, mime: string, more: object = {}) => ({
  type,
  [type]: { id: '1', mime_type: mime, sha256: 'x', ...more },
})

const PANE = 'section[aria-label="Messages"]'

const MEDIA = [
  file('image', 'image/png', { caption: 'A wide picture' }),
  file('sticker', 'image/webp'),
  file('audio', 'audio/ogg; codecs=opus', { voice: true }),
  file('video', 'video/mp4'),
  file('document', 'application/pdf', { filename: 'A very long name of a document that does not fit.pdf' }),
]

const LONG = 'y'.repeat(300)
const CARDS = [
  {
    type: 'order',
    order: { product_items: [{ product_retailer_id: LONG, quantity: 1, item_price: 1e9, currency: 'EUR' }] },
  },
  { type: 'contacts', contacts: [{ name: { formatted_name: LONG }, emails: [{ email: `${LONG}@example.com` }] }] },
  { type: 'location', location: { latitude: 45.4642, longitude: 9.19, name: LONG, address: LONG } },
]

test('the thread fits at every width after the window changed', async () => {
  const { path } = await conversationWith('Every Kind', [
    ...MEDIA,
    ...CARDS,
    textOf('x'.repeat(600)),
    textOf(`https://example.com/${'a'.repeat(300)}`),
    textOf(`\`\`\`${'code '.repeat(60)}\`\`\``),
    textOf('مرحبا بكم'),
  ])
  const { page } = await openSigned(path)
  await bubble(page, 'xxxx').waitFor()
  await page.getByLabel(/Message to/).fill('A draft')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await bubble(page, 'A draft').waitFor()
  const tooWide: string[] = []
  const widths = [1440, 390, 1920, 320, 768, 360, 900, 899, 1200, 1199, 600, 390, 844, 320]
  for (const width of widths) {
    await page.setViewportSize({ width, height: width === 844 ? 390 : 844 })
    // Every message is laid out once: those out of view are skipped until they are shown.
    for (const top of [-100_000, 0]) {
      await page.evaluate(`document.querySelector('${PANE}').scrollTo({ top: ${top} })`)
      tooWide.push(...(await wideOnes(page)).map((found) => `${width}: ${found}`))
    }
  }
  expect(tooWide).toEqual([])
  await page.setViewportSize({ width: 320, height: 700 })
  await expectAccessible(page)
})

/** The elements that are wider than their pane: bubbles, the list of messages, and the page. */
const wideOnes = (page: Page): Promise<string[]> =>
  page.evaluate(`new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => {
    const pane = document.querySelector('${PANE}')
    const { left, right } = pane.getBoundingClientRect()
    const inner = [...pane.querySelectorAll('li, [data-message], [data-message] *')]
    const wide = inner.filter((one) => {
      const box = one.getBoundingClientRect()
      const isHidden = one.closest('svg') !== null || getComputedStyle(one).clipPath !== 'none'
      return !isHidden && (box.right > right + 1 || box.left < left - 1)
    })
    const found = wide.map((one) => one.tagName + ' ' + Math.round(one.getBoundingClientRect().width))
    if (pane.scrollWidth > pane.clientWidth) found.push('pane scrolls')
    if (document.documentElement.scrollWidth > innerWidth) found.push('page scrolls')
    resolve(found)
  })))`)
