import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { expectAccessible } from '../world/console-page.ts'
import { bubble, row, startConsoleWorld, textOf } from '../world/console-world.ts'

const { service, company, conversationWith, openSigned } = await startConsoleWorld()
const { control } = service
const { api, phoneNumberId } = company

const item = (product_retailer_id: string, quantity: number, item_price: number) => ({
  ...{ product_retailer_id, quantity, item_price, currency: 'EUR' },
})
const ORDER = {
  type: 'order',
  order: {
    catalog_id: '1',
    text: 'Before Friday, please',
    product_items: [item('MUG-7', 2, 9.5), item('CUP-1', 1, 4)],
  },
}
const CARDS = {
  type: 'contacts',
  contacts: [
    {
      name: { formatted_name: 'Mara Rossi', first_name: 'Mara' },
      org: { company: 'Rossi Shoes', title: 'Owner' },
      phones: [{ phone: '+39 333 1234567', type: 'WORK' }],
      emails: [{ email: 'mara@example.com' }],
    },
    { name: { formatted_name: 'Ugo Rossi', first_name: 'Ugo' } },
  ],
}
const place = (more: object = {}) => ({
  type: 'location',
  location: { latitude: 45.4642, longitude: 9.19, ...more },
})
const STICKER = { type: 'sticker', sticker: { id: '1', mime_type: 'image/webp', sha256: 'x' } }

const textsOf = async (page: Page) =>
  (await page.locator('[data-message]').allInnerTexts()).map((shown) => shown.replace(/\s+/g, ' ').trim())

test('an order, contact cards, a location and a sticker are shown as what they are', async () => {
  const { path } = await conversationWith('Every Content', [
    ORDER,
    CARDS,
    place({ name: 'Duomo', address: 'Piazza del Duomo' }),
    place(),
    STICKER,
  ])
  const { page } = await openSigned(path)
  await bubble(page, 'MUG-7').waitFor()
  expect(await textsOf(page)).toEqual([
    expect.stringMatching(/^Before Friday, please Order, 2 items 2 × MUG-7 €9.50 1 × CUP-1 €4.00 Total €23.00/),
    expect.stringMatching(/^Mara Rossi Rossi Shoes, Owner \+39 333 1234567 mara@example.com Ugo Rossi/),
    expect.stringMatching(/^Duomo Piazza del Duomo · 45.4642, 9.19 Open the map/),
    expect.stringMatching(/^Location 45.4642, 9.19 Open the map/),
    expect.stringMatching(/^(Sticker )?\d/),
  ])
  await expectAccessible(page)
})

test('the row of the list says what the last message is', async () => {
  const last: [string, object, string][] = [
    ['Last Order', { ...ORDER, order: { ...ORDER.order, text: '' } }, 'Order, 2 items'],
    ['Last Cards', CARDS, '2 contacts'],
    ['Last Location', place(), 'Location'],
    ['Last Place', place({ name: 'Duomo' }), 'Location: Duomo'],
    ['Last Sticker', STICKER, 'Sticker'],
    ['Last Brackets', textOf('[order]'), '[order]'],
  ]
  for (const [name, message] of last) await conversationWith(name, [message])
  const { page } = await openSigned()
  for (const [name, , shown] of last) await row(page, name).getByText(shown, { exact: true }).waitFor()
})

test('the map opens on a click only, without a referrer', async () => {
  const { path } = await conversationWith('A Place', [place({ name: 'Duomo' })])
  const { page, context, faults } = await openSigned(path)
  const referrers: (string | undefined)[] = []
  await context.route('https://www.openstreetmap.org/**', (route) => {
    referrers.push(route.request().headers().referer)
    return route.fulfill({ body: 'The map' })
  })
  const link = page.getByRole('link', { name: 'Open the map' })
  await link.waitFor()
  expect(faults).toEqual([])
  const [map] = await Promise.all([context.waitForEvent('page'), link.click()])
  await map.getByText('The map').waitFor()
  expect([map.url(), referrers]).toEqual([
    'https://www.openstreetmap.org/?mlat=45.4642&mlon=9.19#map=16/45.4642/9.19',
    [undefined],
  ])
  expect(faults.splice(0)).toEqual([expect.stringContaining('foreign request: https://www.openstreetmap.org/')])
})

test('an answer shows the line that it quotes', async () => {
  const { phone, chatId, path } = await conversationWith('Quoting', [ORDER, textOf('Which one?')])
  const { body } = await api('GET', `/whatsapp/conversations/${chatId}/messages`)
  const [question, order] = body.data
  const answer = (id: string, text: string) =>
    control('POST', '/inbound', { phoneNumberId, from: phone, name: 'Quoting', ...textOf(text), context: { id } })
  await answer(question.wamid, 'The blue one')
  await answer(order.wamid, 'I meant this order')
  await answer('wamid.before-parley', 'As I said')
  const { page } = await openSigned(path)
  for (const answered of ['The blue one', 'I meant this order', 'As I said']) await bubble(page, answered).waitFor()
  const sent = await api('POST', '/templates/whatsapp/send', {
    ...{ recipient: phone, type: 'text', text: 'Thank you', quoted: question.id },
  })
  expect(sent.status).toBe(200)
  await bubble(page, 'Thank you').waitFor()
  expect((await textsOf(page)).slice(2)).toEqual([
    expect.stringMatching(/^Quoting Which one\? The blue one/),
    expect.stringMatching(/^Quoting Order: Before Friday, please I meant this order/),
    expect.stringMatching(/^An earlier message that is not here As I said/),
    expect.stringMatching(/^(\w+ \w+ )?Quoting Which one\? Thank you/),
  ])
  await expectAccessible(page)
})

test('an unreadable or hostile content leaves the rest of the thread readable', async () => {
  const long = 'x'.repeat(500)
  const { path } = await conversationWith('Odd Contents', [
    { type: 'order', order: { product_items: [{ currency: 'not a currency', item_price: 'much' }, null, 7] } },
    { type: 'order', order: { product_items: Array.from({ length: 60 }, (_, n) => item(`P-${n}-${long}`, 1, 1)) } },
    { type: 'location', location: { latitude: 'javascript:alert(1)', longitude: null } },
    { type: 'contacts', contacts: [{ name: 'text', phones: 'none' }, {}] },
    textOf('Still here'),
  ])
  const { page } = await openSigned(path, company.key.token, { viewport: { width: 390, height: 844 } })
  await bubble(page, 'Still here').waitFor()
  await bubble(page, '40 more').waitFor()
  expect(await page.getByRole('link', { name: 'Open the map' }).count()).toBe(0)
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  await expectAccessible(page)
})
