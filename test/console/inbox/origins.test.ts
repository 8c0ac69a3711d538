import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { bodyOf, changeOf, newWamid, providerOf } from '../../provider-webhook.ts'
import { expectAccessible } from '../world/console-page.ts'
import { bubble, row, startConsoleWorld, textOf } from '../world/console-world.ts'

const { service, company, conversationWith, openSigned } = await startConsoleWorld()
const provider = providerOf(service)

const AD = {
  source_type: 'ad',
  source_id: '120208',
  source_url: 'https://fb.me/3cr4Wqqkv',
  headline: 'Spring sale',
  body: 'Shoes from 29 €',
}
const UNSUPPORTED = { code: 131051, title: 'Message type unknown', error_data: { details: 'It is a poll.' } }
const permission = (response: string) => ({
  type: 'interactive',
  interactive: { type: 'call_permission_reply', call_permission_reply: { response } },
})
const ROW = {
  type: 'interactive',
  interactive: { type: 'list_reply', list_reply: { id: 'size-42', title: '42', description: 'EU size, wide' } },
}
const call = (from: string, event: string, more: object = {}) => {
  const at = String(Math.floor(Date.now() / 1000))
  const id = newWamid().replace('wamid', 'wacid')
  const calls = [{ id, from, event, timestamp: at, direction: 'USER_INITIATED', ...more }]
  return provider.report(bodyOf(changeOf(company.phoneNumberId, { calls }, 'calls')))
}

const shown = async (page: Page) =>
  (await page.locator('[data-message]').allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim())

test('a message shows where it comes from, and why its content is missing', async () => {
  const { path } = await conversationWith('Far Away', [
    { ...textOf('I saw your shoes'), referral: AD },
    { ...textOf('A joke'), context: { forwarded: true } },
    { ...textOf('A rumour'), context: { frequently_forwarded: true } },
    { ...textOf('In red?'), context: { referred_product: { catalog_id: '7', product_retailer_id: 'shoe-42' } } },
    { type: 'unsupported', errors: [UNSUPPORTED] },
    { type: 'video', video: { mime_type: 'video/mp4' }, errors: [{ code: 131052, title: 'Media download error' }] },
    ROW,
    permission('accept'),
    permission('reject'),
  ])
  const { page } = await openSigned(path)
  await bubble(page, 'EU size').waitFor()
  expect(await shown(page)).toEqual([
    expect.stringMatching(/^From an ad Spring sale Shoes from 29 € Open what the customer saw I saw your shoes/),
    expect.stringMatching(/^Forwarded A joke/),
    expect.stringMatching(/^Forwarded many times A rumour/),
    expect.stringMatching(/^About the product shoe-42 In red\?/),
    expect.stringMatching(
      /^A message that WhatsApp does not pass on .*Message type unknown: It is a poll\. \(131051\)$/,
    ),
    expect.stringMatching(/Media download error \(131052\)$/),
    expect.stringMatching(/^42 EU size, wide/),
    expect.stringMatching(/^May be called/),
    expect.stringMatching(/^Does not want to be called/),
  ])
  const ad = page.getByRole('link', { name: 'Open what the customer saw' }).first()
  expect([await ad.getAttribute('href'), await ad.getAttribute('rel')]).toEqual([AD.source_url, 'noreferrer'])
  const pane = page.getByRole('complementary', { name: 'Contact' })
  if (!(await pane.isVisible())) await page.getByRole('button', { name: 'Contact details' }).click()
  await pane.getByText('Spring sale').waitFor()
  await expectAccessible(page)
})

test('an ad whose address is no https address has no link', async () => {
  const referral = { ...AD, source_url: 'javascript:alert(1)' }
  const { path } = await conversationWith('Bad Link', [{ ...textOf('Hello'), referral }])
  const { page } = await openSigned(path)
  await bubble(page, 'Spring sale').waitFor()
  expect(await page.getByRole('link', { name: 'Open what the customer saw' }).count()).toBe(0)
})

test('calls are shown with what became of them', async () => {
  const { phone, path } = await conversationWith('A Caller', [textOf('Please call me')])
  const now = Math.floor(Date.now() / 1000)
  await call(phone, 'terminate', { status: 'COMPLETED', start_time: String(now - 75), end_time: String(now) })
  await call(phone, 'connect')
  await call(phone, 'terminate', { status: 'FAILED' })
  const { page } = await openSigned(path)
  await bubble(page, 'Missed call').waitFor()
  expect((await shown(page)).slice(1)).toEqual([
    expect.stringMatching(/^Call 1 min 15 s/),
    expect.stringMatching(/^Incoming call/),
    expect.stringMatching(/^Missed call/),
  ])
  await row(page, 'A Caller').getByText('Call', { exact: true }).waitFor()
  await expectAccessible(page)
})
