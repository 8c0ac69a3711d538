import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { holdOpen } from '../../held-locks.ts'
import { expectAccessible } from '../world/console-page.ts'
import { startConsoleWorld } from '../world/console-world.ts'

const { service, origin, openSigned } = await startConsoleWorld()
const { db, operator, createCompany, codeOf } = service

const newCompany = () => createCompany({ isConnected: false })
type Company = Awaited<ReturnType<typeof newCompany>>
const open = async (company: Company, path = '/console/imports') => (await openSigned(path, company.key.token)).page
const chooseBytes = (page: Page, name: string, buffer: Buffer) =>
  page.locator('input[type=file]').setInputFiles({ name, mimeType: 'text/plain', buffer })
const choose = (page: Page, name: string, content: string) => chooseBytes(page, name, Buffer.from(content))
const contactsOf = async (company: Company) => (await company.api('GET', '/contacts?sort=email&limit=100')).body
const target = (page: Page, column: string) => page.getByRole('combobox', { name: `Target of ${column}` })

const CSV = [
  'E-Mail,Mobile,Given name,Loyalty,Remark',
  'ada@example.com,+39 333 1234567,Ada,gold,"a, ""b"""',
  ',,Nobody,silver,x',
  'not an address,,Eve,gold,x',
  'grace@example.com,12,Grace,gold,x',
  'alan@example.com,,Alan,silver,x',
  'short@example.com',
  '',
].join('\r\n')

test('a dropped CSV is mapped by its columns, shows ten rows and counts its faults, and imports what is right', async () => {
  const company = await newCompany()
  await company.api('POST', '/custom-fields', { key: 'LOYALTY', displayName: 'Loyalty', type: 'text' })
  const page = await open(company)
  await page.getByText('No import yet').waitFor()
  const transfer = await page.evaluateHandle(`(() => {
    const transfer = new DataTransfer()
    transfer.items.add(new File([${JSON.stringify(CSV)}], 'people.csv', { type: 'text/csv' }))
    return transfer
  })()`)
  await page.getByRole('region', { name: 'Import contacts' }).dispatchEvent('drop', { dataTransfer: transfer })
  await page.getByText('6 rows, of which 4 will be refused. The others are imported.').waitFor()
  for (const [column, value] of [
    ['E-Mail', 'email'],
    ['Mobile', 'phone'],
    ['Given name', 'first_name'],
    ['Loyalty', 'custom_fields.LOYALTY'],
    ['Remark', ''],
  ] as const) {
    expect(await target(page, column).inputValue(), column).toBe(value)
  }
  for (const fault of [
    'No email and no phone: 1 row',
    'Invalid email address: 1 row',
    'Impossible phone number: 1 row',
    'Wrong number of cells, or not an object: 1 row',
  ])
    await page.getByText(fault, { exact: true }).waitFor()
  await page.getByRole('cell', { name: 'a, "b"', exact: true }).waitFor()
  await target(page, 'Mobile').selectOption('Leave out')
  await page.getByText('6 rows, of which 3 will be refused. The others are imported.').waitFor()
  await target(page, 'Remark').selectOption('Field without a definition: Remark')
  await page.getByRole('button', { name: 'Import 6 rows' }).click()
  await page.getByText('Completed').waitFor()
  await expect.poll(() => page.locator('[data-count=created]').innerText()).toBe('3')
  expect(await page.locator('[data-count=refused]').innerText()).toBe('3')
  const { data } = await contactsOf(company)
  expect(
    data.map(({ email, first_name, custom_fields }: Record<string, unknown>) => [email, first_name, custom_fields]),
  ).toEqual([
    ['ada@example.com', 'Ada', { LOYALTY: 'gold', Remark: 'a, "b"' }],
    ['alan@example.com', 'Alan', { LOYALTY: 'silver', Remark: 'x' }],
    ['grace@example.com', 'Grace', { LOYALTY: 'gold', Remark: 'x' }],
  ])
})

test('refused rows are downloaded, and after a correction the file is imported again', async () => {
  const company = await newCompany()
  const page = await open(company)
  await choose(page, 'people.csv', 'email,first_name\r\nada@example.com,Ada\r\nwrong,Eve\r\n')
  await page.getByRole('button', { name: 'Import 2 rows' }).click()
  await page.getByRole('listitem').getByText('email must be one address').waitFor()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download the refused rows' }).click(),
  ])
  const refused = await readFile(await download.path(), 'utf8')
  expect(refused).toContain('wrong,Eve')
  await page.getByRole('button', { name: 'All imports' }).click()
  await page.getByText('2 of 2 rows').waitFor()
  await choose(page, 'refused.csv', refused.replace('wrong', 'eve@example.com'))
  await page.getByText('1 row, no fault found.').waitFor()
  await page.getByRole('button', { name: 'Import 1 row' }).click()
  await page.getByText('Completed').waitFor()
  expect((await contactsOf(company)).data.map(({ email }: { email: string }) => email)).toEqual([
    'ada@example.com',
    'eve@example.com',
  ])
})

test('progress follows the stream and survives a reload', async () => {
  const company = await newCompany()
  // The rows after the first 1,500 wait: another transaction writes a contact with the same address.
  const release = await holdOpen(
    db,
    `insert into contacts (company_id, email, email_key, source, source_type)
     values (${company.companyId}, 'row1500@example.com', 'row1500@example.com', 'test', 'test')`,
  )
  const page = await open(company)
  const rows = Array.from({ length: 2_500 }, (_, i) => `row${i}@example.com`)
  await choose(page, 'many.csv', ['email', ...rows].join('\n'))
  await page.getByRole('button', { name: 'Import 2,500 rows' }).click()
  await page.getByText('1,500 of 2,500 rows').waitFor()
  await page.getByText('Running').waitFor()
  await page.reload()
  await page.getByText('1,500 of 2,500 rows').waitFor()
  await expectAccessible(page)
  await release()
  await page.getByText('2,500 of 2,500 rows').waitFor()
  await page.getByText('Completed').waitFor()
  expect(await page.locator('[data-count=created]').innerText()).toBe('2,500')
})

test('lines of JSON are mapped too', async () => {
  const company = await newCompany()
  const page = await open(company)
  const lines = [{ mail: 'ada@example.com', tags: ['vip'], size: 38, custom_fields: { A: 1 } }, { mail: 'eve' }]
  await choose(page, 'people.ndjson', `${lines.map((line) => JSON.stringify(line)).join('\n')}\n{broken\n`)
  await page.getByText('3 rows, of which 2 will be refused. The others are imported.').waitFor()
  await target(page, 'size').selectOption('Field without a definition: size')
  await page.getByRole('button', { name: 'Import 3 rows' }).click()
  await page.getByText('Completed').waitFor()
  const { data } = await contactsOf(company)
  expect(data).toMatchObject([{ email: 'ada@example.com', tags: ['vip'], custom_fields: { A: 1, size: 38 } }])
})

test('a file without rows, a mapping without an address, and an upload that fails are said', async () => {
  const company = await newCompany()
  const page = await open(company)
  await choose(page, 'empty.csv', 'email\r\n')
  await page.getByText('This file has no rows.').waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Choose another file' }).click()
  await choose(page, 'names.csv', 'First,Last\r\nAda,Lovelace\r\n')
  await page.getByText('Choose a column for the email, the phone or the contact id.').waitFor()
  expect(await page.getByRole('button', { name: /^Import/ }).isDisabled()).toBe(true)
  await page.getByRole('button', { name: 'Back' }).click()
  await choose(page, 'people.csv', 'email\r\nada@example.com\r\n')
  await page.context().route('**/contacts/import?*', (route) => route.abort())
  await page.getByRole('button', { name: 'Import 1 row' }).click()
  await page.getByRole('alert').getByText('The service cannot be reached').waitFor()
  await page.context().unroute('**/contacts/import?*')
  await page.getByRole('button', { name: 'Import 1 row' }).click()
  await page.getByText('Completed').waitFor()
  await page.goto(`${origin}/console/imports/999999`)
  await page.getByText('Import not found').waitFor()
  await expectAccessible(page)
})

test('a German list in Windows-1252 is read as found, shown, and imported as it is', async () => {
  const company = await newCompany()
  const page = await open(company)
  const list =
    'E-Mail;Telefon;Vorname;Newsletter\r\nzoe@example.com;+49 1512 3456789;Zoë;Ja\r\nmax@example.com;;Max;Nein\r\n'
  await chooseBytes(page, 'kunden.csv', Buffer.from(list, 'latin1'))
  const [separator, encoding] = ['Separator', 'Encoding'].map((name) =>
    page.getByRole('combobox', { name, exact: true }),
  )
  expect([await separator!.inputValue(), await encoding!.inputValue()]).toEqual([';', 'windows-1252'])
  await target(page, 'Vorname').selectOption('First name')
  await target(page, 'Telefon').selectOption('Phone')
  await page.getByText('Unknown consent value').waitFor()
  await page.getByLabel('Words that opt in').fill('ja')
  await page.getByLabel('Words that opt out').fill('nein')
  await page.getByText('2 rows, no fault found.').waitFor()
  await page.getByRole('cell', { name: 'Zoë', exact: true }).waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Import 2 rows' }).click()
  await page.getByText('Completed').waitFor()
  await page.getByText('CSV · Semicolon · Windows-1252').waitFor()
  expect((await contactsOf(company)).data).toMatchObject([
    { email: 'max@example.com', marketing_consent: { email: false } },
    { email: 'zoe@example.com', first_name: 'Zoë', phone: '+4915123456789', marketing_consent: { email: true } },
  ])
})

test('separator and encoding can be changed, and a file in UTF-16 is sent as it is', async () => {
  const company = await newCompany()
  const page = await open(company)
  const list = '\uFEFFemail\tName, full;nick\r\nzoe@example.com\tZoë 😀\r\n'
  await chooseBytes(page, 'list.txt', Buffer.from(list, 'utf16le'))
  const separator = page.getByRole('combobox', { name: 'Separator', exact: true })
  await target(page, 'Name, full;nick').waitFor()
  await separator.selectOption('Semicolon')
  await target(page, 'nick').waitFor()
  await separator.selectOption('Tab')
  await target(page, 'Name, full;nick').waitFor()
  await page.getByRole('combobox', { name: 'Encoding', exact: true }).selectOption('UTF-8')
  await page.getByText('This file has no rows.').waitFor()
  await page.getByRole('button', { name: 'Read it as it was found' }).click()
  await target(page, 'Name, full;nick').selectOption('Field without a definition: Name, full;nick')
  await page.getByText('1 row, no fault found.').waitFor()
  await page.getByRole('button', { name: 'Import 1 row' }).click()
  await page.getByText('CSV · Tab · UTF-16').waitFor()
  await page.getByText('Completed').waitFor()
  expect((await contactsOf(company)).data).toMatchObject([{ custom_fields: { 'Name, full;nick': 'Zoë 😀' } }])
})

test('an export of Mailchimp is mapped with its consent, and lines of JSON keep every digit', async () => {
  const company = await newCompany()
  const page = await open(company)
  const list =
    'Email Address,First Name,MEMBER_RATING,CONFIRM_TIME,CONFIRM_IP,LEID,EUID,TAGS\nada@example.com,Ada,2,2021-05-01 10:05:00,203.0.113.8,1,a,"""vip"""\n'
  await choose(page, 'subscribed_members_export.csv', list)
  await page.getByText('An export of Mailchimp').waitFor()
  await page.getByText('1 row, no fault found.').waitFor()
  await page.getByRole('button', { name: 'Import 1 row' }).click()
  await page.getByText('Completed').waitFor()
  expect((await contactsOf(company)).data).toMatchObject([
    { first_name: 'Ada', tags: ['vip'], marketing_consent: { email: true } },
  ])
  await page.getByRole('button', { name: 'All imports' }).click()
  const lines =
    '{"mail":"bob@example.com","crm":12345678901234567890}\n{"mail":"cleo@example.com","crm":"12345678901234567890"}\n'
  await choose(page, 'people.ndjson', lines)
  await page.getByText('Number with too many digits: put it in quotes: 1 row').waitFor()
  await target(page, 'crm').selectOption('Field without a definition: crm')
  await page.getByRole('button', { name: 'Import 2 rows' }).click()
  await expect.poll(() => page.locator('[data-count=refused]').innerText()).toBe('1')
  expect((await contactsOf(company)).data.at(-1)).toMatchObject({ custom_fields: { crm: '12345678901234567890' } })
})

test('a developer does not see imports, and on a small window the screen fits', async () => {
  const company = await newCompany()
  const link = await operator('POST', `/companies/${company.companyId}/sign-in-links`, {
    name: 'Dev',
    role: 'developer',
  })
  const { page } = await openSigned('/console/imports', codeOf(link.body.url))
  await page.getByText('Your session needs the role Agent or Admin.').waitFor()
  const small = await openSigned('/console/imports', company.key.token, { viewport: { width: 390, height: 844 } })
  await choose(small.page, 'people.csv', CSV)
  await small.page.getByText('of which 4 will be refused').waitFor()
  expect(await small.page.evaluate('document.documentElement.scrollWidth')).toBe(390)
})
