import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { startConsoleWorld } from '../world/console-world.ts'

const { service, origin, openSigned } = await startConsoleWorld()
const { operator, createCompany, codeOf } = service

const MANY = 120
const ADA = {
  email: 'ada@example.com',
  phone: '+393331234567',
  firstName: 'Ada',
  lastName: 'Lovelace',
  tags: ['vip', 'milano'],
  customFields: { TIER: 'gold', POINTS: 1250 },
  marketingConsent: { whatsapp: true, email: false },
}

async function companyWith(contacts: object[]) {
  const company = await createCompany({ isConnected: false })
  if (contacts.length > 0) await company.api('POST', '/contacts', contacts)
  return company
}
const rows = (page: Page) => page.locator('[data-contact]')
const open = (company: { key: { token: string } }, search = '') =>
  openSigned(`/console/contacts${search}`, company.key.token)

const full = await companyWith([
  ADA,
  ...Array.from({ length: MANY }, (_, i) => ({
    email: `person${String(i).padStart(3, '0')}@example.com`,
    firstName: `Person ${i}`,
    ...(i % 40 === 0 && { tags: ['newsletter'], status: 'lead' }),
  })),
])
await full.api('POST', '/custom-fields', {
  key: 'TIER',
  displayName: 'Tier',
  type: 'select',
  allowedValues: ['silver', 'gold'],
})
await full.api('POST', '/custom-fields', { key: 'POINTS', displayName: 'Points', type: 'number' })

test('without contacts, the list says how they come, and shows the first one when it comes', async () => {
  const company = await companyWith([])
  const { page } = await open(company)
  await page.getByText('No contacts yet').waitFor()
  await company.api('POST', '/contacts', ADA)
  await page.getByText('1 contact', { exact: true }).waitFor()
  expect(await rows(page).count()).toBe(1)
  for (const shown of [
    'Ada Lovelace',
    'ada@example.com',
    '+39 333 123 4567',
    'WhatsApp: Yes',
    'Email: No',
    'vip, milano',
  ])
    await page.getByText(shown, { exact: true }).filter({ visible: true }).waitFor()
})

test('the search, each filter and the order narrow and sort the list, and stand in the address', async () => {
  const { page } = await open(full)
  await page.getByText(`${MANY + 1} contacts`).waitFor()
  await page.getByRole('searchbox', { name: 'Search contacts' }).fill('lovelace')
  await page.getByText('1 contact', { exact: true }).waitFor()
  expect(page.url()).toBe(`${origin}/console/contacts?search=lovelace`)
  await page.getByRole('searchbox', { name: 'Search contacts' }).fill('')
  await page.getByText(`${MANY + 1} contacts`).waitFor()

  await page.getByRole('searchbox', { name: 'Tag' }).fill('newsletter')
  await page.getByText('3 contacts', { exact: true }).waitFor()
  await page.getByRole('searchbox', { name: 'Tag' }).fill('')
  await page.getByText(`${MANY + 1} contacts`).waitFor()
  await page.getByRole('searchbox', { name: 'Status' }).fill('lead')
  await page.getByText('3 contacts', { exact: true }).waitFor()
  await page.getByRole('combobox', { name: 'Consent' }).selectOption('WhatsApp: yes')
  await page.getByText('No contact matches').waitFor()
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await page.getByText(`${MANY + 1} contacts`).waitFor()
  expect(page.url()).toBe(`${origin}/console/contacts`)
  await page.getByRole('combobox', { name: 'Consent' }).selectOption('Email: no')
  await page.getByText('1 contact', { exact: true }).waitFor()
  await page.getByRole('combobox', { name: 'Consent' }).selectOption('Any consent')
  await page.getByText(`${MANY + 1} contacts`).waitFor()

  await page.getByRole('combobox', { name: 'Custom field' }).selectOption('Tier')
  await page.getByText(`${MANY + 1} contacts`).waitFor()
  await page.getByRole('combobox', { name: 'Value of Tier' }).selectOption('gold')
  await page.getByText('1 contact', { exact: true }).waitFor()
  await page.getByRole('combobox', { name: 'Custom field' }).selectOption('Points')
  await page.getByText(`${MANY + 1} contacts`).waitFor()
  await page.getByRole('searchbox', { name: 'Value of Points' }).fill('1250')
  await page.getByText('1 contact', { exact: true }).waitFor()
  await page.reload()
  await page.getByText('1 contact', { exact: true }).waitFor()
  expect(await page.getByRole('searchbox', { name: 'Value of Points' }).inputValue()).toBe('1250')
  await page.getByRole('combobox', { name: 'Custom field' }).selectOption('Any field')

  await page.getByRole('combobox', { name: 'Order' }).selectOption('Email Z to A')
  await expect.poll(() => rows(page).first().innerText()).toBe('Person 119')
})

test('the list grows to its end as it is scrolled, with few rows in the page, and its rows are reached with j and k', async () => {
  const { page } = await open(full, '?sort=email')
  await rows(page).first().waitFor()
  const seen = new Set<string>()
  await expect
    .poll(async () => {
      for (const name of await rows(page).allInnerTexts()) seen.add(name)
      await rows(page).last().scrollIntoViewIfNeeded()
      return seen.size
    })
    .toBe(MANY + 1)
  expect(await rows(page).count()).toBeLessThan(60)
  await page.keyboard.press('g')
  await page.keyboard.press('c')
  await page.waitForURL(`${origin}/console/contacts`)
  await page.getByText('Person 119', { exact: true }).waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await page.keyboard.press('k')
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Person 119')
})

test('a list that fails says so and tries again, and a slow one shows its shape', async () => {
  const { page, context } = await open(full)
  await rows(page).first().waitFor()
  let answer: 'fail' | 'wait' | 'pass' = 'fail'
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  await context.route('**/public/v1/contacts?*', async (route) => {
    if (answer === 'fail') return route.fulfill({ status: 400, json: { error: { code: 'bad', message: 'Broken' } } })
    if (answer === 'wait') await held
    return route.continue()
  })
  await page.reload()
  await page.getByText('This part could not be loaded').waitFor()
  answer = 'wait'
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.reload()
  await page.getByText('Loading').waitFor()
  answer = 'pass'
  release()
  await rows(page).first().waitFor()
})

test('a developer does not see the screen, and its address names the role that it needs', async () => {
  const link = await operator('POST', `/companies/${full.companyId}/sign-in-links`, { name: 'Dev', role: 'developer' })
  const { page } = await openSigned('/console/contacts', codeOf(link.body.url))
  await page.getByText('Your session needs the role Agent or Admin.').waitFor()
  expect(await page.getByRole('link', { name: 'Contacts' }).count()).toBe(0)
})

test('a session that only sends emails sees contacts too', async () => {
  const key = await operator('POST', `/companies/${full.companyId}/api-keys`, {
    name: 'Mail',
    permissions: ['Transactional'],
  })
  const { page } = await openSigned('/console/contacts', key.body.token)
  await rows(page).first().waitFor()
  await page.getByRole('link', { name: 'Contacts' }).waitFor()
})

test('on a small window the rows keep name and address, and nothing is wider than the page', async () => {
  const { page } = await openSigned('/console/contacts?search=lovelace', full.key.token, {
    viewport: { width: 390, height: 844 },
  })
  await page.getByText('ada@example.com').filter({ visible: true }).waitFor()
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
})
