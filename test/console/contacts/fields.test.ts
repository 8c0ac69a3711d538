import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { uniquePhone } from '../../service.ts'
import { startConsoleWorld } from '../world/console-world.ts'

const { service, origin, openSigned, conversationOf } = await startConsoleWorld()

type Company = Awaited<ReturnType<typeof service.createCompany>>

const TIER = {
  key: 'TIER',
  displayName: 'Tier',
  type: 'select',
  allowedValues: ['silver', 'gold'],
  category: 'Loyalty',
}

async function companyWith(...fields: object[]): Promise<Company> {
  const company = await service.createCompany()
  for (const field of fields) expect((await company.api('POST', '/custom-fields', field)).status).toBe(201)
  return company
}
const open = async ({ key }: Company, path = '/console/custom-fields') => (await openSigned(path, key.token)).page
const list = (page: Page) => page.getByRole('list', { name: 'Custom fields' })
const names = (page: Page) => list(page).getByRole('heading').allInnerTexts()
const storedNames = async ({ api }: Company, query = '') =>
  (await api('GET', `/custom-fields${query}`)).body.data.map((field: { displayName: string }) => field.displayName)

test('the first field is defined from the empty screen, which is reached from the contacts', async () => {
  const company = await companyWith()
  const page = await open(company, '/console/contacts')
  await page.getByRole('link', { name: 'Custom fields' }).click()
  await page.waitForURL(`${origin}/console/custom-fields`)
  await page.getByText('No custom fields yet').waitFor()
  await page.getByRole('button', { name: 'Add field' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'Add a field' })
  await dialog.getByRole('button', { name: 'Add field' }).click()
  await dialog.getByText('Enter a name', { exact: true }).waitFor()
  await dialog.getByLabel('Name').fill('Loyalty tier')
  expect(await dialog.getByLabel('Key').inputValue()).toBe('LOYALTY_TIER')
  await dialog.getByLabel('Key').fill('1st')
  await dialog.getByLabel('Kind').selectOption('Choice')
  await dialog.getByLabel('Category').fill('Loyalty')
  await dialog.getByRole('button', { name: 'Add field' }).click()
  await dialog.getByText('Begin with a letter', { exact: false }).waitFor()
  await dialog.getByText('Enter at least one value', { exact: true }).waitFor()
  await dialog.getByLabel('Key').fill('tier')
  await dialog.getByLabel('Values').fill('silver\n gold \n\nsilver')
  await dialog.getByRole('button', { name: 'Add field' }).click()
  await list(page).getByText('Loyalty tier').waitFor()
  for (const shown of ['TIER', 'Choice', 'Loyalty']) await list(page).getByText(shown, { exact: true }).waitFor()
  const [stored] = (await company.api('GET', '/custom-fields')).body.data
  expect(stored).toMatchObject({ key: 'TIER', type: 'select', allowedValues: ['silver', 'gold'], category: 'Loyalty' })
})

test('a key that is taken is said at its field', async () => {
  const page = await open(await companyWith(TIER))
  await page.getByRole('button', { name: 'Add field' }).click()
  await page.getByLabel('Name').fill('Another tier')
  await page.getByLabel('Key').fill('tier')
  await page.getByRole('dialog').getByRole('button', { name: 'Add field' }).click()
  await page.getByText('Another field has this key', { exact: true }).waitFor()
})

test('a field is renamed and moved to another category, and its contacts show that', async () => {
  const company = await companyWith(TIER)
  const { body } = await company.api('POST', '/contacts', { email: 'ada@example.com', customFields: { TIER: 'gold' } })
  const page = await open(company)
  await page.getByRole('button', { name: 'Edit Tier' }).click()
  const dialog = page.getByRole('dialog', { name: 'Edit Tier' })
  expect(await dialog.getByLabel('Key').count()).toBe(0)
  await dialog.getByLabel('Name').fill('Level')
  await dialog.getByLabel('Category').fill('Club')
  await dialog.getByLabel('Values').fill('silver\ngold\nplatinum')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await list(page).getByText('Level', { exact: true }).waitFor()
  await page.goto(`${origin}/console/contacts/${body.data[0].id}`)
  const details = page.getByRole('region', { name: 'Details' })
  for (const shown of ['Level', 'Club', 'gold']) await details.getByText(shown, { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Edit Level' }).click()
  await page.getByRole('combobox', { name: 'Level' }).selectOption('platinum')
})

test('fields are put in an order with the keyboard, which the contacts follow', async () => {
  const company = await companyWith(
    { key: 'A', displayName: 'Alpha', type: 'text' },
    { key: 'B', displayName: 'Beta', type: 'number' },
    { key: 'C', displayName: 'Gamma', type: 'date' },
  )
  const contact = await company.api('POST', '/contacts', { email: 'ada@example.com', customFields: { B: 5, A: 'x' } })
  const page = await open(company)
  await expect.poll(() => names(page)).toEqual(['Alpha', 'Beta', 'Gamma'])
  await page.getByRole('button', { name: 'Move Gamma up' }).focus()
  await page.keyboard.press('Enter')
  await expect.poll(() => names(page)).toEqual(['Alpha', 'Gamma', 'Beta'])
  // The focus stays at the field, so that the same key moves it on.
  await page.keyboard.press('Enter')
  await expect.poll(() => names(page)).toEqual(['Gamma', 'Alpha', 'Beta'])
  await expect.poll(() => storedNames(company)).toEqual(['Gamma', 'Alpha', 'Beta'])
  await page.getByRole('button', { name: 'Move Gamma down' }).click()
  await expect.poll(() => storedNames(company)).toEqual(['Alpha', 'Gamma', 'Beta'])
  expect(await page.getByRole('button', { name: 'Move Alpha up' }).isDisabled()).toBe(true)
  await page.goto(`${origin}/console/contacts/${contact.body.data[0].id}`)
  const terms = page.getByRole('region', { name: 'Details' }).getByRole('term')
  await expect.poll(async () => (await terms.allInnerTexts()).slice(-3)).toEqual(['Alpha', 'Gamma', 'Beta'])
})

test('an order that the service does not take is shown as it was, with the reason', async () => {
  const company = await companyWith(TIER, { key: 'B', displayName: 'Beta', type: 'text' })
  const page = await open(company)
  await page.route('**/custom-fields/order', (route) =>
    route.fulfill({ status: 400, json: { error: { code: 'bad_request', message: 'Broken' } } }),
  )
  await page.getByRole('button', { name: 'Move Beta up' }).click()
  await page.getByRole('alert').waitFor()
  expect(await names(page)).toEqual(['Tier', 'Beta'])
})

test('a retired field is not offered in forms and filters, its values stay readable, and retiring ends', async () => {
  const company = await companyWith(TIER, { key: 'B', displayName: 'Beta', type: 'text' })
  const phone = uniquePhone()
  await service.control('POST', '/inbound', {
    phoneNumberId: company.phoneNumberId,
    from: phone,
    name: 'Ada',
    type: 'text',
    text: { body: 'Hello' },
  })
  const chatId = await conversationOf(phone, company.api)
  const { body } = await company.api('POST', '/contacts', {
    phone: `+${phone}`,
    customFields: { TIER: 'gold', B: 'x' },
  })
  const page = await open(company)
  await list(page).getByRole('button', { name: 'Retire: Tier' }).click()
  const retired = page.getByRole('list', { name: 'Retired' })
  await retired.getByText('Tier', { exact: true }).waitFor()
  expect(await names(page)).toEqual(['Beta'])

  await page.getByRole('button', { name: 'Contacts' }).click()
  const filter = page.getByRole('combobox', { name: 'Custom field' })
  await expect.poll(() => filter.locator('option').allInnerTexts()).toEqual(['Any field', 'Beta'])
  await page.goto(`${origin}/console/contacts/${body.data[0].id}`)
  const details = page.getByRole('region', { name: 'Details' })
  for (const shown of ['Retired fields', 'Tier', 'gold']) await details.getByText(shown, { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Edit Beta' }).waitFor()
  expect(await page.getByRole('button', { name: 'Edit Tier' }).count()).toBe(0)
  await page.goto(`${origin}/console/inbox/${chatId}`)
  await page.getByRole('complementary').getByText('Tier', { exact: true }).waitFor()

  await page.goto(`${origin}/console/custom-fields`)
  await page.getByRole('button', { name: 'Offer again: Tier' }).click()
  await expect.poll(() => names(page)).toEqual(['Tier', 'Beta'])
  expect(await storedNames(company)).toEqual(['Tier', 'Beta'])
})

test('an agent reads fields on contacts, and has no screen to change them', async () => {
  const company = await companyWith(TIER)
  const link = await service.operator('POST', `/companies/${company.companyId}/sign-in-links`, {
    name: 'Mara',
    role: 'agent',
  })
  const { page } = await openSigned('/console/contacts', service.codeOf(link.body.url))
  await page.getByRole('link', { name: 'Imports' }).waitFor()
  expect(await page.getByRole('link', { name: 'Custom fields' }).count()).toBe(0)
  await page.goto(`${origin}/console/custom-fields`)
  await page.getByText('Your session needs the role Admin.').waitFor()
})
