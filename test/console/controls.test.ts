import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { ADMIN_TOKEN } from '../api.ts'
import { uniquePhone } from '../service.ts'
import { bubble, row, startConsoleWorld } from './world/console-world.ts'

const { service, origin, company, write, conversationOf, createReceiver, openSigned } = await startConsoleWorld()
const { operator, codeOf } = service
const phone = uniquePhone()
const { id: receiver } = await createReceiver('Shop', 'controls')
await write(phone, 'Is it ready?')
const chatId = await conversationOf(phone)
const contacts = await company.api('POST', '/contacts', [{ email: 'ada@example.com', firstName: 'Ada' }])
const contact = contacts.body.data[0].id
await company.api('POST', '/custom-fields', { key: 'TIER', displayName: 'Tier', type: 'text' })

type Who = 'agent' | 'developer' | 'admin' | 'acting' | 'operator'
/** `acting`: an operator who acts for the company. */
const EVERYONE: readonly Who[] = ['agent', 'developer', 'admin', 'acting', 'operator']
const AGENT: readonly Who[] = ['agent', 'admin', 'acting']
const DEVELOPER: readonly Who[] = ['developer', 'admin', 'acting']
const ADMIN: readonly Who[] = ['admin', 'acting']

/** A control: who sees it, where it is, and its name. The first of a place is what shows that the place is there. */
type Control = [who: readonly Who[], role: 'link' | 'button' | 'menuitem' | 'form' | 'shortcut', name: string]
/** A place: the address, and how to open what is shown there. */
type Place = { path: string; open?: (page: Page) => Promise<unknown>; controls: readonly Control[] }

const menuOf = (page: Page) => page.getByTitle('Your session').click()
const PLACES: Record<string, Place> = {
  'the navigation': {
    path: '/console/',
    controls: [
      [AGENT, 'link', 'Inbox'],
      [AGENT, 'link', 'Contacts'],
      [DEVELOPER, 'link', 'Receivers'],
      [['acting', 'operator'], 'link', 'Companies'],
      [['operator'], 'link', 'Events'],
    ],
  },
  'the menu of the session': {
    path: '/console/',
    open: menuOf,
    controls: [
      [EVERYONE, 'menuitem', 'Sign out'],
      [DEVELOPER, 'menuitem', 'Quick replies'],
      [['developer', 'admin'], 'menuitem', 'API keys'],
      [['admin', 'acting', 'operator'], 'menuitem', 'Sessions'],
    ],
  },
  'the sessions': {
    path: '/console/',
    open: async (page) => {
      await menuOf(page)
      await page.getByRole('menuitem', { name: 'Sign out' }).waitFor()
      const item = page.getByRole('menuitem', { name: 'Sessions' })
      if ((await item.count()) > 0) await item.click()
    },
    controls: [[ADMIN, 'form', 'New sign-in link']],
  },
  'the shortcuts': {
    path: '/console/',
    open: (page) => page.keyboard.press('?'),
    controls: [
      [EVERYONE, 'shortcut', 'Show all shortcuts'],
      [AGENT, 'shortcut', 'Inbox'],
      [AGENT, 'shortcut', 'Contacts'],
      [DEVELOPER, 'shortcut', 'Receivers'],
      [AGENT, 'shortcut', 'Write'],
    ],
  },
  'a conversation': {
    path: `/console/inbox/${chatId}`,
    controls: [
      [AGENT, 'button', 'Send'],
      [AGENT, 'button', 'Template'],
      [AGENT, 'button', 'Attach files'],
      [AGENT, 'button', 'Insert a quick reply'],
      [AGENT, 'button', 'Schedule for later'],
      [AGENT, 'button', 'Assign'],
      [AGENT, 'button', 'Assign to me'],
      [AGENT, 'link', 'Open the contact'],
    ],
  },
  'the contacts': {
    path: '/console/contacts',
    controls: [
      [AGENT, 'link', 'Imports'],
      [ADMIN, 'link', 'Custom fields'],
    ],
  },
  'a contact': {
    path: `/console/contacts/${contact}`,
    controls: [
      [AGENT, 'button', 'Edit First name'],
      [AGENT, 'button', 'Edit Tier'],
      [AGENT, 'button', 'More'],
    ],
  },
  'the menu of a contact': {
    path: `/console/contacts/${contact}`,
    open: async (page) => {
      const more = page.getByRole('button', { name: 'More', exact: true })
      await more.or(page.locator('[data-empty]')).waitFor()
      if ((await more.count()) > 0) await more.click()
    },
    controls: [
      [AGENT, 'menuitem', 'Archive the contact …'],
      [ADMIN, 'menuitem', 'Erase the person …'],
    ],
  },
  'the custom fields': {
    path: '/console/custom-fields',
    controls: [
      [ADMIN, 'button', 'Add field'],
      [ADMIN, 'button', 'Edit Tier'],
      [ADMIN, 'button', 'Retire: Tier'],
      [ADMIN, 'button', 'Move Tier up'],
    ],
  },
  'the imports': { path: '/console/imports', controls: [[AGENT, 'button', 'Choose a file']] },
  'the receivers': { path: '/console/receivers', controls: [[DEVELOPER, 'button', 'Add receiver']] },
  'a receiver': {
    path: `/console/receivers/${receiver}`,
    controls: [
      [DEVELOPER, 'button', 'Test'],
      [DEVELOPER, 'button', 'Redeliver these …'],
      [DEVELOPER, 'button', 'More'],
    ],
  },
  'the companies': { path: '/console/companies', controls: [[['acting', 'operator'], 'button', 'Act for Acme']] },
}

/** A link of the navigation has its count in its name. */
const controlOf = (page: Page, [, role, name]: Control) =>
  (role === 'shortcut'
    ? page.getByRole('dialog').getByText(name, { exact: true })
    : page.getByRole(role, role === 'link' ? { name: new RegExp(`^${name}( \\d|$)`) } : { name, exact: true })
  ).first()

/** A page of each kind of user, and what the service refused to it. */
async function open(who: Who) {
  const refused: string[] = []
  const isOperator = who === 'acting' || who === 'operator'
  const link = await operator('POST', `/companies/${company.companyId}/sign-in-links`, { name: 'Mara', role: who })
  const { page } = await openSigned('/console/', isOperator ? ADMIN_TOKEN : codeOf(link.body.url))
  page.on('response', (response) => {
    // The stream is asked for before the page knows whose session it is.
    const isEarly = who === 'operator' && response.url().endsWith('/events')
    if (response.status() === 403 && !isEarly) refused.push(`${response.request().method()} ${response.url()}`)
  })
  const scope = who === 'acting' ? `?as=${company.companyId}` : ''
  return { page, refused, at: (path: string) => `${origin}${path}${scope}` }
}

test.each(EVERYONE)('%s sees what the service does for that role, and nothing that it refuses', async (who) => {
  const { page, refused, at } = await open(who)
  for (const [name, place] of Object.entries(PLACES)) {
    await page.goto(at(place.path))
    await page.getByTitle('Your session').waitFor()
    await place.open?.(page)
    const expected = place.controls.filter(([seenBy]) => seenBy.includes(who))
    const control = (one: Control) => controlOf(page, one)
    for (const one of expected) await control(one).waitFor()
    // Either there is a control, or the address says why there is none.
    const isScreen = place.open === undefined && place.path !== '/console/'
    if (expected.length === 0 && isScreen) await page.locator('[data-empty]').first().waitFor()
    const shown = []
    for (const one of place.controls) if ((await control(one).count()) > 0) shown.push(one[2])
    expect({ [name]: shown }).toEqual({ [name]: expected.map(([, , label]) => label) })
  }
  expect(refused).toEqual([])
})

test.each([
  ['Transactional', 'admin', 'Contacts', ['Contacts']],
  ['Transactional', 'developer', 'Inbox', []],
  ['WhatsApp', 'agent', 'Inbox', ['Inbox', 'Contacts']],
])('with the permission %s alone, the home of the role %s is %s', async (permission, role, home, screens) => {
  const link = await operator('POST', `/companies/${company.companyId}/sign-in-links`, {
    name: 'Mara',
    role,
    permissions: [permission],
  })
  const { page } = await openSigned('/console/', codeOf(link.body.url))
  await page.getByRole('heading', { level: 1, name: home }).waitFor()
  const links = page.getByRole('navigation', { name: 'Screens' }).getByRole('link')
  expect((await links.allInnerTexts()).map((text) => text.split('\n')[0])).toEqual(screens)
  if (screens.length === 0) await page.getByText('Your session needs the permission WhatsApp.').waitFor()
})

test('an agent does in the console what the console shows, and the service takes it', async () => {
  const { page, refused, at } = await open('agent')
  onTestFinished(() => expect(refused).toEqual([]))
  await page.goto(at('/console/inbox'))
  await row(page, 'Ada Lovelace').click()
  await page.getByLabel('Message to').fill('It is.')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await bubble(page, 'It is.').waitFor()
  await page.getByRole('link', { name: 'Open the contact' }).click()
  await page.getByRole('button', { name: 'Edit First name' }).waitFor()
})
