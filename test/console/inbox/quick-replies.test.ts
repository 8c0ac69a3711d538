import { expect, test } from 'vitest'
import { expectAccessible } from '../world/console-page.ts'
import { bubble, startConsoleWorld, textOf } from '../world/console-world.ts'

const { service, company, conversationWith, openSigned, sentTo } = await startConsoleWorld()
const { createCompany, operator, codeOf, control } = service

const linkFor = async (companyId: number, role: string) => {
  const { body } = await operator('POST', `/companies/${companyId}/sign-in-links`, { name: role, role })
  return codeOf(body.url)
}

test('an agent chooses a quick reply with / and the keyboard, and the name of the contact is in it', async () => {
  const { api } = company
  const create = (title: string, text: string) => api('POST', '/whatsapp/quick-replies', { title, text })
  await create('thanks', 'Thank you {{name}}!')
  await create('hours', 'We are open from 9 to 18.')
  await create('return policy', 'Send it back within 30 days.\nThanks!')
  const { path, phone } = await conversationWith('Grace Hopper', [textOf('Hello')])
  const { page } = await openSigned(path, await linkFor(company.companyId, 'agent'))
  const field = page.getByLabel(/Message to/)
  await field.fill('/')
  const list = page.getByRole('listbox', { name: 'Quick replies' })
  const options = list.getByRole('option')
  await options.nth(2).waitFor()
  expect(await options.allInnerTexts()).toEqual([
    expect.stringContaining('/hours'),
    expect.stringContaining('/return policy'),
    expect.stringContaining('/thanks'),
  ])
  const marked = () =>
    page.evaluate(`document.getElementById(document.activeElement.getAttribute('aria-activedescendant')).textContent`)
  expect(await marked()).toContain('/hours')
  await field.press('ArrowDown')
  expect(await marked()).toContain('/return policy')
  await field.press('ArrowUp')
  await field.press('ArrowUp')
  expect(await marked()).toContain('/thanks')
  await field.press('Escape')
  await list.waitFor({ state: 'detached' })
  expect(await field.inputValue()).toBe('/')
  await field.fill('')
  await field.fill(' /THAN')
  await options.nth(1).waitFor()
  expect(await marked()).toContain('/thanks')
  await field.press('Enter')
  expect(await field.inputValue()).toBe('Thank you Grace Hopper!')
  await list.waitFor({ state: 'detached' })
  await field.press('Enter')
  await bubble(page, 'Thank you Grace Hopper!').waitFor()
  // A text that is no search stays, and one that nothing matches is sent.
  await field.fill('Hello')
  await page.getByRole('button', { name: 'Insert a quick reply' }).click()
  await options.filter({ hasText: '/hours' }).click()
  expect(await field.inputValue()).toBe('Hello\nWe are open from 9 to 18.')
  await field.fill('/nothing like it')
  await list.waitFor({ state: 'detached' })
  await field.press('Enter')
  await bubble(page, '/nothing like it').waitFor()
  expect(await sentTo(phone)).toHaveLength(2)
})

test('developers create, change and delete quick replies in the menu of their session; agents do not', async () => {
  const own = await createCompany()
  const { page } = await openSigned('/console/receivers', await linkFor(own.companyId, 'developer'))
  await page.getByTitle('Your session').click()
  await page.getByRole('menuitem', { name: 'Quick replies' }).click()
  const dialog = page.getByRole('dialog', { name: 'Quick replies' })
  await dialog.getByText('No quick reply yet').waitFor()
  const add = dialog.getByRole('button', { name: 'Add quick reply' })
  const save = dialog.getByRole('button', { name: 'Save' })
  await add.click()
  await save.click()
  await dialog.getByText('Enter a title').waitFor()
  await dialog.getByText('Enter a text').waitFor()
  await expectAccessible(page)
  await dialog.getByLabel('Title').fill('thanks')
  await dialog.getByLabel('Text').fill('Thank you {{name}}!')
  await save.click()
  await dialog.getByText('/thanks').waitFor()
  await add.click()
  await dialog.getByLabel('Title').fill('Thanks')
  await dialog.getByLabel('Text').fill('Thanks')
  await save.click()
  await dialog.getByText('A quick reply has this title already').waitFor()
  await dialog.getByLabel('Title').fill('bye')
  await save.click()
  await dialog.getByText('/bye').waitFor()
  await dialog.getByRole('button', { name: 'Edit thanks' }).click()
  await dialog.getByLabel('Text').fill('Thank you!')
  await save.click()
  await dialog.getByText('Thank you!').waitFor()
  await dialog.getByRole('button', { name: 'Delete bye' }).click()
  await dialog.getByText('Delete the quick reply “bye”?').waitFor()
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
  await dialog.getByText('Delete the quick reply “bye”?').waitFor({ state: 'detached' })
  expect(await dialog.getByText('/bye').count()).toBe(0)
  const { data } = (await own.api('GET', '/whatsapp/quick-replies')).body
  expect(data).toMatchObject([{ title: 'thanks', text: 'Thank you!' }])

  const agent = await openSigned('/console/inbox', await linkFor(own.companyId, 'agent'))
  await agent.page.getByTitle('Your session').click()
  await agent.page.getByRole('menuitem', { name: 'Sign out' }).waitFor()
  expect(await agent.page.getByRole('menuitem', { name: 'Quick replies' }).count()).toBe(0)
})

test('an agent of a company without quick replies reads who writes them', async () => {
  const own = await createCompany()
  await control('POST', '/inbound', { phoneNumberId: own.phoneNumberId, from: '393330000001', ...textOf('Hello') })
  const { page } = await openSigned('/console/inbox', await linkFor(own.companyId, 'agent'))
  await page.locator('[data-chat]').click()
  await page.getByRole('button', { name: 'Insert a quick reply' }).click()
  await page.getByText('No quick reply yet').waitFor()
  await page.getByLabel(/Message to/).press('Escape')
  await page.getByText('No quick reply yet').waitFor({ state: 'detached' })
})
