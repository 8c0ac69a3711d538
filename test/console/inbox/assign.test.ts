import { expect, test } from 'vitest'
import { eventually } from '../../service.ts'
import { expectAccessible } from '../world/console-page.ts'
import { bubble, startConsoleWorld, textOf } from '../world/console-world.ts'

const { service, company, conversationWith, openSigned } = await startConsoleWorld()
const { operator, codeOf, signIn } = service
const { api, companyId } = company

const linkFor = async (name: string) =>
  codeOf((await operator('POST', `/companies/${companyId}/sign-in-links`, { name })).body.url)
const assigneeOf = async (chatId: number) => (await api('GET', `/whatsapp/conversations/${chatId}`)).body.data.assignee

test('a conversation is handed over to anyone who has or had a session, by a menu with search', async () => {
  for (const name of ['Zoë Martin', 'Jonas Berg']) {
    const { page: call } = await signIn(await linkFor(name))
    await call('DELETE', '/session')
  }
  const { chatId, path } = await conversationWith('Ada Lovelace', [textOf('Hello')])
  const { page } = await openSigned(path, await linkFor('Mara'))
  await bubble(page, 'Hello').waitFor()
  const menu = page.getByRole('button', { name: 'Assign', exact: true })
  await menu.click()
  const search = page.getByRole('combobox', { name: 'Search people' })
  const options = page.getByRole('listbox', { name: 'Assignee' }).getByRole('option')
  await options.filter({ hasText: 'Jonas Berg' }).waitFor()
  expect((await options.allInnerTexts()).map((text) => text.split('\n').at(-1))).toEqual([
    'Mara (you)',
    'Jonas Berg',
    'Zoë Martin',
  ])
  await search.fill('zoe')
  await search.press('Enter')
  await page.getByRole('button', { name: 'Assignee: Zoë Martin' }).waitFor()
  await search.waitFor({ state: 'detached' })
  await eventually(async () => (await assigneeOf(chatId)) === 'Zoë Martin')
  expect(await page.evaluate(`document.activeElement.getAttribute('aria-label')`)).toBe('Assignee: Zoë Martin')

  await page.keyboard.press('Enter')
  await search.fill('nobody of this name')
  await page.getByText('No user matches').waitFor()
  await expectAccessible(page)
  await search.fill('')
  await options.filter({ hasText: 'Not assigned' }).click()
  await eventually(async () => (await assigneeOf(chatId)) === null)
  await menu.waitFor()

  await page.setViewportSize({ width: 390, height: 844 })
  await menu.click()
  await options.filter({ hasText: 'Jonas Berg' }).waitFor()
  await page.keyboard.press('Escape')
  await search.waitFor({ state: 'detached' })
})
