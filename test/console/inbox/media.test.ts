import { crc32, deflateSync } from 'node:zlib'
import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { expectAccessible } from '../world/console-page.ts'
import { startConsoleWorld } from '../world/console-world.ts'

const { service, company, conversationWith, openSigned } = await startConsoleWorld()
const { phoneNumberId } = company

/** A PNG of one color. */
function pngOf(width: number, height: number): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type), data])
    const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)]
    length.writeUInt32BE(data.length)
    checksum.writeUInt32BE(crc32(body))
    return Buffer.concat([length, body, checksum])
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // Eight bits, gray.
  header.set([8, 0, 0, 0, 0], 8)
  const rows = Buffer.alloc((width + 1) * height, 120)
  for (let row = 0; row < height; row++) rows[row * (width + 1)] = 0
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** A message with a file that the provider has. */
async function fileOf(type: string, mimeType: string, bytes: Buffer, more: object = {}) {
  const headers = { authorization: 'Bearer token-of-the-number', 'content-type': mimeType }
  const address = `${service.sandbox.url}/v25.0/${phoneNumberId}/media`
  const answer = await fetch(address, { method: 'POST', headers, body: new Uint8Array(bytes) })
  const { id } = Object(await answer.json())
  return { type, [type]: { id, mime_type: mimeType, sha256: 'x', ...more } }
}

const OPENER = 'button[aria-label="Open Image"]'

/** Waits until every picture of a region is drawn. A text is evaluated from outside, where the page's policy does not bind it. */
const untilDrawn = (page: Page, region: string) =>
  page.evaluate(`Promise.all([...document.querySelectorAll('${region} img')].map((one) => one.decode()))`)

async function sizeOf(picture: Locator) {
  const box = await picture.boundingBox()
  if (box === null) throw new Error('The picture is not shown')
  return { height: box.height, ratio: (box.width / box.height).toFixed(1) }
}

test('pictures keep their proportions, and open in a viewer with a download', async () => {
  const { path } = await conversationWith('Pictures', [
    await fileOf('image', 'image/png', pngOf(800, 200), { caption: 'wide' }),
    await fileOf('image', 'image/png', pngOf(200, 1000), { caption: 'tall' }),
  ])
  const { page } = await openSigned(path)
  const pictures = page.locator('[data-message] img')
  await pictures.nth(1).waitFor()
  await untilDrawn(page, '[data-message]')
  expect((await sizeOf(pictures.nth(0))).ratio).toBe('4.0')
  const tall = await sizeOf(pictures.nth(1))
  expect(tall.ratio).toBe('0.2')
  await page.locator(OPENER).nth(1).click()
  const viewer = page.getByRole('dialog', { name: 'Image' })
  await viewer.waitFor()
  await untilDrawn(page, '[role=dialog]')
  const shown = await sizeOf(viewer.getByRole('img', { name: 'Image' }))
  expect(shown.height).toBeGreaterThan(tall.height)
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    viewer.getByRole('link', { name: 'Download' }).click(),
  ])
  expect(await download.failure()).toBe(null)
  await page.keyboard.press('Escape')
  await viewer.waitFor({ state: 'detached' })
  expect(await page.evaluate(`document.querySelectorAll('${OPENER}')[1] === document.activeElement`)).toBe(true)
})

test('a sticker is shown whole, and the player of a voice message is 280 px wide', async () => {
  const { path } = await conversationWith('Sticker and Voice', [
    await fileOf('sticker', 'image/webp', pngOf(512, 256)),
    await fileOf('audio', 'audio/ogg', Buffer.from('OggS'), { voice: true }),
  ])
  const { page } = await openSigned(path)
  const sticker = page.getByRole('img', { name: 'Sticker' })
  await sticker.waitFor()
  await untilDrawn(page, '[data-message]')
  expect(await page.evaluate(`getComputedStyle(document.querySelector('[data-message] img')).objectFit`)).toBe(
    'contain',
  )
  expect(await page.evaluate(`document.querySelector('[data-message] audio').offsetWidth`)).toBe(280)
  await page.setViewportSize({ width: 320, height: 700 })
  await expectAccessible(page)
})
