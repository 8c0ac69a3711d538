import { expect, test } from 'vitest'
import { expectAccessible } from '../world/console-page.ts'
import { startConsoleWorld } from '../world/console-world.ts'

const { service, company, openSigned } = await startConsoleWorld()
const SCHEMA = /must (match|NOT)|pattern|\^\[/

test('the form of a receiver says in words what each field takes', async () => {
  const { page } = await openSigned('/console/receivers')
  await page.getByRole('button', { name: 'Add receiver' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'Add a receiver' })
  const add = dialog.getByRole('button', { name: 'Add receiver' })
  const faults = async (texts: string[]) => {
    await add.click()
    for (const text of texts) await dialog.getByText(text, { exact: true }).waitFor()
    expect(await dialog.innerText()).not.toMatch(SCHEMA)
  }
  await dialog.getByLabel('Address').fill('shop.example.com/hooks')
  await dialog.getByLabel('Signing secret').fill('short')
  await faults(['Enter a name', 'Enter an http or https address', 'At least 16 characters'])
  await expectAccessible(page)
  await dialog.getByLabel('Name').fill('Shop')
  await dialog.getByLabel('Address').fill('https://user:pass@shop.example.com')
  await dialog.getByLabel('Signing secret').fill('x'.repeat(5_000))
  await faults(['It must not contain a user name or password: use headers.'])
  await dialog.getByText(/^At most [\d,]+ characters$/).waitFor()
  await dialog.getByLabel('Address').fill('https://shop.example.com/hooks')
  await dialog.getByLabel('Signing secret').fill('a secret of 16 or more')
  await dialog.getByRole('checkbox', { name: /^Messages/ }).uncheck()
  await faults(['Choose at least one event.'])
  await dialog.getByRole('checkbox', { name: /^Messages/ }).check()
  await add.click()
  await page.getByRole('heading', { name: 'Shop' }).waitFor()
})

test('the form of a sign-in link says what is missing', async () => {
  const { body } = await service.operator('POST', `/companies/${company.companyId}/sign-in-links`, {
    name: 'Mara',
    role: 'admin',
  })
  const { page } = await openSigned('/console/inbox', service.codeOf(body.url))
  await page.getByTitle('Your session').click()
  await page.getByRole('menuitem', { name: 'Sessions' }).click()
  const dialog = page.getByRole('dialog', { name: 'Sessions' })
  await dialog.getByRole('button', { name: 'Create link' }).click()
  await dialog.getByText('Enter a name', { exact: true }).waitFor()
  expect(await dialog.innerText()).not.toMatch(SCHEMA)
  await expectAccessible(page)
})
