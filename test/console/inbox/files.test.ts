import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { MAX_BYTES, MAX_STILL_STICKER, FILE_TYPES as TYPES } from '../../../console/inbox/composer/files/file-limits.ts'
import { sampleOf } from '../../../sandbox/world/sample-media.ts'
import { FILE_TYPES, MAX_FILE_BYTES, MAX_STILL_STICKER_BYTES } from '../../../src/media/uploads/file-type.ts'
import { eventually } from '../../service.ts'
import { expectAccessible } from '../world/console-page.ts'
import { bubble, startConsoleWorld, textOf } from '../world/console-world.ts'

const { service, company, conversationWith, openSigned, sentTo: newestFirst } = await startConsoleWorld()
/** What the provider took, in its order. */
const sentTo = async (phone: string) => (await newestFirst(phone)).reverse()
const UPLOAD = '**/whatsapp/media?**'
const SEND = /\/messages$/

const fileOf = (name: string, mimeType: string) => ({ name, mimeType, buffer: sampleOf(mimeType).bytes })
const PHOTO = fileOf('photo.png', 'image/png')

async function openConversation(name: string) {
  const { path, phone, chatId } = await conversationWith(name, [textOf('Hello')])
  const { page, context } = await openSigned(path)
  await bubble(page, 'Hello').waitFor()
  return { page, context, phone, chatId }
}

const choose = (page: Page, files: Parameters<Page['setInputFiles']>[1]) =>
  page.locator('input[type=file]').setInputFiles(files)
const chosenIn = (page: Page) => page.getByRole('list', { name: 'Files to send' }).getByRole('listitem')
const send = (page: Page) => page.getByRole('button', { name: 'Send', exact: true })
const outgoing = (page: Page) => page.locator('[data-outgoing]')
/** The sent messages, when there are so many. */
const untilSent = (phone: string, count: number) =>
  eventually(async () => {
    const sent = await sentTo(phone)
    return sent.length >= count ? sent : undefined
  })

test('the console says the limits of the service', () => {
  expect([...Object.entries(TYPES)].sort()).toEqual([...FILE_TYPES].sort())
  expect([MAX_BYTES, MAX_STILL_STICKER]).toEqual([MAX_FILE_BYTES, MAX_STILL_STICKER_BYTES])
})

test('an agent sends files in their order, with a preview, a caption and the limit of each', async () => {
  const link = await service.operator('POST', `/companies/${company.companyId}/sign-in-links`, { name: 'Mara' })
  const { path, phone } = await conversationWith('Several Files', [textOf('Hello')])
  const { page } = await openSigned(path, service.codeOf(link.body.url))
  await bubble(page, 'Hello').waitFor()
  const [chooser] = await Promise.all([
    page.waitForEvent('filechooser'),
    page.getByRole('button', { name: 'Attach files' }).click(),
  ])
  await chooser.setFiles([PHOTO, fileOf('offer.pdf', 'application/pdf')])
  const rows = chosenIn(page)
  await rows.nth(1).waitFor()
  await rows
    .nth(0)
    .locator('img')
    .evaluate((picture: { decode(): Promise<void> }) => picture.decode())
  expect(await rows.nth(0).innerText()).toMatch(/photo\.png\s+Image, \d+ bytes; at most 5 MB/)
  expect(await rows.nth(1).innerText()).toMatch(/offer\.pdf\s+Document, \d+ bytes; at most 100 MB/)
  await choose(page, [PHOTO])
  await rows.nth(2).waitFor()
  await rows.nth(2).getByRole('button', { name: 'Remove photo.png' }).click()
  await rows.nth(2).waitFor({ state: 'detached' })
  await page.getByLabel(/Message to/).fill('Size 42')
  await send(page).click()
  await bubble(page, 'Size 42').locator('img').waitFor()
  await bubble(page, 'offer.pdf').waitFor()
  await outgoing(page).waitFor({ state: 'detached' })
  expect(await rows.count()).toBe(0)
  expect(await page.getByLabel(/Message to/).inputValue()).toBe('')
  expect(await sentTo(phone)).toMatchObject([
    { body: { type: 'image', image: { caption: 'Size 42' } } },
    { body: { type: 'document', document: { filename: 'offer.pdf' } } },
  ])
})

test('a file that WhatsApp does not take is refused before its upload, with the limit', async () => {
  const { page } = await openConversation('Limits')
  let uploads = 0
  page.on('request', (request) => {
    if (request.url().includes('/whatsapp/media')) uploads += 1
  })
  await choose(page, [
    { ...PHOTO, name: 'large.png', buffer: Buffer.alloc(5 * 1024 * 1024 + 1) },
    { name: 'moves.gif', mimeType: 'image/gif', buffer: Buffer.from('GIF89a') },
    { name: 'empty.pdf', mimeType: 'application/pdf', buffer: Buffer.alloc(0) },
  ])
  await page.getByText('Too large: an image may have 5 MB at most').waitFor()
  await page.getByText('WhatsApp does not take files of this type. It takes JPEG and PNG').waitFor()
  await page.getByText('This file is empty').waitFor()
  expect(await send(page).isDisabled()).toBe(true)
  // What the browser cannot know, the service says: these bytes are no picture.
  for (const name of ['large.png', 'moves.gif', 'empty.pdf'])
    await page.getByRole('button', { name: `Remove ${name}` }).click()
  expect(uploads).toBe(0)
  await choose(page, [{ ...PHOTO, name: 'false.png', buffer: Buffer.from([0, 1, 2, 3]) }])
  await send(page).click()
  await page.getByText(/which WhatsApp does not take/).waitFor()
  expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0)
  await page.getByRole('button', { name: 'Discard' }).click()
  await outgoing(page).waitFor({ state: 'detached' })
})

test('files are dropped on the conversation and pasted into the answer', async () => {
  const { page, phone } = await openConversation('Drop and Paste')
  const transfer = await page.evaluateHandle(`(() => {
    const transfer = new DataTransfer()
    const bytes = Uint8Array.from(atob('${PHOTO.buffer.toString('base64')}'), (one) => one.charCodeAt(0))
    transfer.items.add(new File([bytes], 'dropped.png', { type: 'image/png' }))
    return (window.transfer = transfer)
  })()`)
  const messages = page.getByRole('region', { name: 'Messages' })
  await messages.dispatchEvent('dragenter', { dataTransfer: transfer })
  await page.getByText('Drop files to send them').waitFor()
  await expectAccessible(page)
  await messages.dispatchEvent('drop', { dataTransfer: transfer })
  await chosenIn(page).getByText('dropped.png').waitFor()
  expect(await page.getByText('Drop files to send them').count()).toBe(0)
  await page.evaluate(`document.activeElement.dispatchEvent(
    new ClipboardEvent('paste', { clipboardData: window.transfer, bubbles: true, cancelable: true }))`)
  await chosenIn(page).nth(1).waitFor()
  await send(page).click()
  expect(await untilSent(phone, 2)).toMatchObject([{ body: { type: 'image' } }, { body: { type: 'image' } }])
})

test('a file goes with the kind that the service read from its bytes, and text that it cannot carry follows', async () => {
  const { page, phone } = await openConversation('Kinds')
  await choose(page, [
    { ...fileOf('note.ogg', 'audio/ogg'), mimeType: 'application/octet-stream' },
    fileOf('smile.webp', 'image/webp'),
  ])
  await page.getByLabel(/Message to/).fill('Listen')
  await send(page).click()
  const sent = await untilSent(phone, 3)
  expect(sent.map(({ body }) => body.type)).toEqual(['audio', 'text', 'sticker'])
  await bubble(page, 'Listen').waitFor()
  await outgoing(page).waitFor({ state: 'detached' })
})

test('an upload shows its progress and is cancelled, and nothing is sent', async () => {
  const { page, context, phone } = await openConversation('Cancelled')
  const held = Promise.withResolvers<void>()
  await context.route(UPLOAD, async (route) => {
    await held.promise
    await route.abort()
  })
  await choose(page, [PHOTO])
  await send(page).click()
  await page.getByRole('progressbar', { name: 'Upload of photo.png' }).waitFor()
  await outgoing(page).locator('img').waitFor()
  await page.getByRole('button', { name: 'Cancel the upload' }).click()
  await outgoing(page).waitFor({ state: 'detached' })
  held.resolve()
  await page.getByLabel(/Message to/).fill('Later')
  await send(page).click()
  await bubble(page, 'Later').waitFor()
  expect(await sentTo(phone)).toMatchObject([{ body: { type: 'text' } }])
})

test('a failed upload is tried again with its key, and the file is sent once', async () => {
  const { page, context, phone } = await openConversation('Tried Again')
  const keys: (string | undefined)[] = []
  let isCut = true
  await context.route(UPLOAD, async (route) => {
    keys.push(route.request().headers()['idempotency-key'])
    // The first one arrives, and its answer is lost.
    if (!isCut) return route.continue()
    await route.fetch()
    await route.abort()
  })
  await choose(page, [PHOTO])
  await send(page).click()
  const again = page.getByRole('button', { name: 'Try again' })
  await again.waitFor()
  await page.getByText('The upload failed').waitFor()
  isCut = false
  await again.click()
  await bubble(page, '').locator('img').waitFor()
  await outgoing(page).waitFor({ state: 'detached' })
  expect(await sentTo(phone)).toHaveLength(1)
  expect([keys.length, new Set(keys).size]).toEqual([2, 1])
  const stored =
    await service.db`select id from uploads where company_id = ${company.companyId} and filename = 'photo.png'`
  expect(stored.length).toBeGreaterThan(0)
})

test('a reload during the upload, and a lost answer of the send, send the file once', async () => {
  const { page, context, phone } = await openConversation('Reloaded')
  const held = Promise.withResolvers<void>()
  await context.route(UPLOAD, async (route) => {
    await held.promise
    await route.abort().catch(() => {})
  })
  await choose(page, [PHOTO])
  await page.getByLabel(/Message to/).fill('Once')
  await send(page).click()
  await page.getByRole('progressbar').waitFor()
  await page.reload()
  await context.unroute(UPLOAD)
  held.resolve()
  const keys: (string | undefined)[] = []
  await context.route(SEND, async (route) => {
    if (route.request().method() !== 'POST') return route.continue()
    keys.push(route.request().headers()['idempotency-key'])
    if (keys.length > 1) return route.continue()
    await route.fetch()
    await route.abort()
  })
  await page.reload()
  await bubble(page, 'Once').locator('img').waitFor()
  await outgoing(page).waitFor({ state: 'detached' })
  expect(await sentTo(phone)).toHaveLength(1)
  expect(new Set(keys).size).toBe(1)
})

test('files that are chosen survive a reload, and are forgotten at the end of the session', async () => {
  const { page } = await openConversation('Kept')
  await choose(page, [PHOTO])
  await chosenIn(page).getByText('photo.png').waitFor()
  await page.reload()
  await chosenIn(page).getByText('photo.png').waitFor()
  await page.getByTitle('Your session').click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByLabel('API key or token').waitFor()
  const left = await page.evaluate(`new Promise((resolve) => {
    const opening = indexedDB.open('parley')
    opening.onsuccess = () => {
      const counting = opening.result.transaction('files').objectStore('files').count()
      counting.onsuccess = () => resolve(counting.result)
    }
  })`)
  expect(left).toBe(0)
})
