import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { uniquePhone } from '../../service.ts'
import { expectAccessible } from '../world/console-page.ts'
import { startConsoleWorld } from '../world/console-world.ts'

const { origin, company, openSigned } = await startConsoleWorld()
const { api } = company

for (const field of [
  { key: 'TIER', displayName: 'Tier', type: 'select', allowedValues: ['silver', 'gold'] },
  { key: 'POINTS', displayName: 'Points', type: 'number' },
  { key: 'IS_MEMBER', displayName: 'Member', type: 'boolean' },
  { key: 'BORN', displayName: 'Born', type: 'date' },
  { key: 'EXTRA', displayName: 'Extra', type: 'json' },
  { key: 'NOTE', displayName: 'Note', type: 'text' },
]) {
  await api('POST', '/custom-fields', field)
}

async function openNew() {
  const phone = `+${uniquePhone()}`
  const email = `ada${phone.slice(1)}@example.com`
  const { body } = await api('POST', '/contacts', {
    phone,
    email,
    firstName: 'Ada',
    tags: ['vip'],
    customFields: { NOTE: 'old' },
  })
  const id: number = body.data[0].id
  const { page, context } = await openSigned(`/console/contacts/${id}`, company.key.token)
  await page.getByRole('heading', { name: 'Ada' }).waitFor()
  const stored = async () => (await api('GET', `/contacts/${id}`)).body.data
  return { page, context, id, email, phone, stored }
}
const edit = (page: Page, label: string) => page.getByRole('button', { name: `Edit ${label}`, exact: true }).click()
const control = (page: Page, label: string) =>
  page.getByRole('form').or(page.locator('form')).getByLabel(label, { exact: true })
const saved = (page: Page, label: string) => page.getByRole('button', { name: `Edit ${label}`, exact: true }).waitFor()

test('each kind of field is edited in its place, and stored as its kind', async () => {
  const { page, stored } = await openNew()
  await edit(page, 'First name')
  await expectAccessible(page)
  await control(page, 'First name').fill('Augusta')
  await page.keyboard.press('Enter')
  await saved(page, 'First name')
  await page.getByRole('heading', { name: 'Augusta' }).waitFor()
  expect(await page.evaluate('document.activeElement.title')).toBe('Edit First name')
  await edit(page, 'Tier')
  await control(page, 'Tier').selectOption('gold')
  await page.getByRole('button', { name: 'Save' }).click()
  await saved(page, 'Tier')
  await edit(page, 'Points')
  await control(page, 'Points').fill('12.5')
  await page.keyboard.press('Enter')
  await saved(page, 'Points')
  await edit(page, 'Member')
  await control(page, 'Member').selectOption('No')
  await page.getByRole('button', { name: 'Save' }).click()
  await saved(page, 'Member')
  await edit(page, 'Born')
  await control(page, 'Born').fill('1815-12-10')
  await page.keyboard.press('Enter')
  await saved(page, 'Born')
  await edit(page, 'Extra')
  await control(page, 'Extra').fill('{"size": [38]}')
  await page.getByRole('button', { name: 'Save' }).click()
  await saved(page, 'Extra')
  await edit(page, 'Note')
  await control(page, 'Note').fill('')
  await page.keyboard.press('Enter')
  await saved(page, 'Note')
  expect(await stored()).toMatchObject({
    first_name: 'Augusta',
    custom_fields: { TIER: 'gold', POINTS: 12.5, IS_MEMBER: false, BORN: '1815-12-10', EXTRA: { size: [38] } },
  })
  expect((await stored()).custom_fields).not.toHaveProperty('NOTE')
})

test('a fault is said in words at the field, Escape leaves the value as it was, and nothing is stored', async () => {
  const { page, stored, email } = await openNew()
  for (const [label, wrong, words] of [
    ['Email', 'nobody', 'Enter one address such as ada@example.com'],
    ['Phone', '12', 'Enter 7 to 15 digits with the country code, such as +39 333 1234567'],
    ['Points', 'many', 'Enter a number such as 12.5'],
    ['Extra', '{size', 'Enter JSON such as {"size": 38}'],
  ] as const) {
    await edit(page, label)
    await control(page, label).fill(wrong)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').getByText(words).waitFor()
    if (label === 'Email') await expectAccessible(page)
    await control(page, label).press('Escape')
    await saved(page, label)
  }
  expect(await stored()).toMatchObject({ email, custom_fields: { NOTE: 'old' } })
})

test('an address of another contact is refused, and a lost answer leaves the editor with its value', async () => {
  const { page, context, email } = await openNew()
  await api('POST', '/contacts', { email: `other-${email}` })
  await edit(page, 'Email')
  await control(page, 'Email').fill(`other-${email}`)
  await page.keyboard.press('Enter')
  await page.getByRole('alert').getByText('Another contact has this email').waitFor()
  await context.route('**/public/v1/contacts/*', (route) =>
    route.request().method() === 'PUT' ? route.abort() : route.continue(),
  )
  await control(page, 'Email').press('Enter')
  await page.getByRole('alert').getByText('The service cannot be reached').waitFor()
  expect(await control(page, 'Email').inputValue()).toBe(`other-${email}`)
})

test('tags are added and removed, and consent is changed with its history', async () => {
  const { page, stored } = await openNew()
  await page.getByLabel('New tag').fill('milano')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Remove the tag milano' }).waitFor()
  await page.getByRole('button', { name: 'Remove the tag vip' }).click()
  await expect.poll(async () => (await stored()).tags).toEqual(['milano'])
  await page.getByRole('combobox', { name: 'Consent on WhatsApp' }).selectOption('No')
  await page.getByRole('listitem').getByText('WhatsApp: no').waitFor()
  await expectAccessible(page)
  expect((await stored()).marketing_consent).toEqual({ email: null, whatsapp: false })
})

test('archiving says what stays, and the list no longer has the contact', async () => {
  const { page, id } = await openNew()
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('menuitem', { name: 'Archive the contact …' }).click()
  await page.getByText('Its conversations with their messages, emails and delivery logs').waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()
  expect((await api('GET', `/contacts/${id}`)).status).toBe(200)
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('menuitem', { name: 'Archive the contact …' }).click()
  await page.getByRole('button', { name: 'Archive the contact', exact: true }).click()
  await page.waitForURL(`${origin}/console/contacts`)
  expect((await api('GET', `/contacts/${id}`)).status).toBe(404)
  expect(await page.locator(`[data-contact="${id}"]`).count()).toBe(0)
})

test('erasing says what it removes before it does, and a failure says so and leaves the contact', async () => {
  const { page, context, id } = await openNew()
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('menuitem', { name: 'Erase the person …' }).click()
  for (const words of ['Texts and files of its messages', 'Opt-outs, under a keyed hash', 'This cannot be undone'])
    await page.getByText(words).waitFor()
  await context.route('**/public/v1/contacts/*', (route) =>
    route.request().method() === 'DELETE' ? route.abort() : route.continue(),
  )
  await page.getByRole('button', { name: 'Erase the person', exact: true }).click()
  await page.getByRole('alert').getByText('The service cannot be reached').waitFor()
  await context.unroute('**/public/v1/contacts/*')
  await page.getByRole('button', { name: 'Erase the person', exact: true }).click()
  await page.waitForURL(`${origin}/console/contacts`)
  expect((await api('GET', `/contacts/${id}`)).status).toBe(404)
})
