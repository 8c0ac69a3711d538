import type { Page } from 'playwright-core'
import { uniquePhone } from '../../service.ts'
import { changing } from './changed-answers.ts'
import type { Stage } from './stage.ts'
import type { State } from './state.ts'

const ofInbox = ({ full }: Stage) => `/console/inbox/${full.chatId}`
const ofContact = ({ full }: Stage) => `/console/contacts/${full.contact}`
const ofReceiver = ({ full }: Stage) => `/console/receivers/${full.receiver}`
const press = (name: string) => (page: Page) => page.getByRole('button', { name, exact: true }).first().click()
const choose = async (page: Page, name: string) => {
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await page.getByRole('menuitem', { name }).click()
}
const openMenu = (page: Page) => page.getByTitle('Your session').click()
const openTemplates = async (page: Page) => {
  await press('Template')(page)
  await page.getByRole('dialog').getByRole('button', { name: /en_US/ }).first().waitFor()
}
const search = (label: string) => (page: Page) => page.getByLabel(label).first().fill('nobody has this name')
const CSV = [
  'Email;First;Tier;Phone;Newsletter',
  'ada@example.org;Ada;gold;+39 333 1234567;yes',
  'not an email;Bruno;;;',
  'chiara@example.org;Chiara;silver;328 123 4567;sì',
]
const closeWindow = changing((record: object) => ({
  ...record,
  window: { isOpen: false, closesAt: '2026-01-01T00:00:00.000Z' },
}))
const failMessages = changing((messages: { direction: string }[]) =>
  messages.map((one) => ({
    ...one,
    ...(one.direction === 'outbound' && {
      status: 'failed',
      error: { code: 131026, title: 'Message undeliverable', details: null },
    }),
  })),
)

/** What opens in the screens, and what a user meets beside them. */
export const DIALOGS: readonly State[] = [
  { name: 'sign-in', who: 'signed-out', path: '/console/', shows: 'API key or token' },
  { name: 'sign-in-used-link', who: 'signed-out', path: '/console/#code=used', shows: /does not work any more/ },
  {
    name: 'sign-in-refused',
    who: 'signed-out',
    path: '/console/',
    open: async (page) => {
      await page.getByLabel('API key or token').fill('PARLEY-x')
      await page.keyboard.press('Enter')
    },
    shows: /is not valid/,
  },
  {
    name: 'inbox-no-match',
    who: 'full',
    path: '/console/inbox',
    open: search('Search contacts'),
    shows: 'No conversation matches',
  },
  {
    name: 'inbox-news',
    who: 'one',
    path: '/console/inbox',
    open: async (page, { write, one }) => {
      await page.getByText('Live', { exact: true }).waitFor({ state: 'attached' })
      await page.locator('[data-chat]').first().hover()
      await write(uniquePhone(), 'Good morning', 'New Customer', one.phoneNumberId)
    },
    shows: /^\d new$/,
    differsOnPhone: true,
  },
  { name: 'inbox-broken', who: 'full', path: '/console/inbox', answers: 'broken', shows: /The service had an error/ },
  { name: 'inbox-busy', who: 'full', path: '/console/inbox', answers: 'busy', shows: /Too many requests/ },
  { name: 'session-menu', who: 'full', path: '/console/inbox', open: openMenu, shows: 'Sign out' },
  {
    name: 'shortcuts',
    who: 'full',
    path: '/console/inbox',
    open: (page) => page.keyboard.press('?'),
    shows: 'Keyboard shortcuts',
  },
  {
    name: 'sessions',
    who: 'full',
    path: '/console/inbox',
    open: async (page) => {
      await openMenu(page)
      await page.getByRole('menuitem', { name: 'Sessions' }).click()
    },
    shows: 'This session',
  },
  {
    name: 'api-keys',
    who: 'full',
    path: '/console/inbox',
    open: async (page) => {
      await openMenu(page)
      await page.getByRole('menuitem', { name: 'API keys' }).click()
    },
    shows: 'WhatsApp, Transactional',
  },
  {
    name: 'offline',
    who: 'full',
    path: '/console/inbox',
    open: (page) => page.context().setOffline(true),
    shows: /offline/,
  },
  { name: 'not-found', who: 'full', path: '/console/no-such-screen', shows: 'Nothing is at this address.' },
  { name: 'conversation-missing', who: 'full', path: '/console/inbox/999999', shows: 'Conversation not found' },
  {
    name: 'status-menu',
    who: 'full',
    path: ofInbox,
    open: (page) => page.getByRole('button', { name: /Status of the conversation/ }).click(),
    shows: 'Snoozed',
  },
  {
    name: 'contact-details',
    who: 'full',
    path: ofInbox,
    open: async (page) => {
      const button = page.getByRole('button', { name: 'Contact details' })
      await page.getByText('Your order is ready').first().waitFor()
      if (await button.isVisible()) await button.click()
    },
    shows: 'Open the contact',
    differsOnPhone: true,
  },
  {
    name: 'picture',
    who: 'full',
    path: ofInbox,
    open: (page) => page.getByRole('button', { name: /^Open Image/ }).click(),
    shows: 'Download',
  },
  {
    name: 'kinds',
    who: 'full',
    path: ofInbox,
    open: (page) => page.getByText('MUG-7').first().scrollIntoViewIfNeeded(),
    shows: /MUG-7/,
  },
  {
    name: 'window-closed',
    who: 'full',
    path: ofInbox,
    prepare: (page) => page.route(/\/conversations\/\d+$/, closeWindow),
    shows: 'The 24-hour window is closed',
  },
  {
    name: 'message-failed',
    who: 'full',
    path: ofInbox,
    prepare: (page) => page.route(/\/conversations\/\d+\/messages/, failMessages),
    shows: 'The number cannot be reached on WhatsApp',
  },
  { name: 'templates', who: 'full', path: ofInbox, open: openTemplates, shows: 'Send a template' },
  {
    name: 'template-missing',
    who: 'full',
    path: ofInbox,
    open: async (page) => {
      await openTemplates(page)
      await page
        .getByRole('dialog')
        .getByRole('button', { name: /order_update en_US/ })
        .click()
      await page.getByRole('textbox').last().fill('')
      await press('Send template')(page)
    },
    shows: 'Enter a value.',
  },
  {
    name: 'contacts-no-match',
    who: 'full',
    path: '/console/contacts',
    open: search('Search contacts'),
    shows: 'No contact matches',
  },
  { name: 'contact-missing', who: 'full', path: '/console/contacts/999999', shows: 'Contact not found' },
  { name: 'contact-edit', who: 'full', path: ofContact, open: press('Edit Date of birth'), shows: 'Save' },
  {
    name: 'contact-archive',
    who: 'full',
    path: ofContact,
    open: (page) => choose(page, 'Archive'),
    shows: 'What stays',
  },
  {
    name: 'contact-erase',
    who: 'full',
    path: ofContact,
    open: (page) => choose(page, 'Erase'),
    shows: 'What it removes',
  },
  {
    name: 'custom-field-faults',
    who: 'full',
    path: '/console/custom-fields',
    open: async (page) => {
      await press('Add field')(page)
      await page.getByLabel('Kind').selectOption('Choice')
      await page.getByRole('dialog').getByRole('button', { name: 'Add field' }).click()
    },
    shows: 'Enter at least one value',
  },
  {
    name: 'import-preview',
    who: 'full',
    path: '/console/imports',
    open: (page) =>
      page
        .locator('input[type=file]')
        .setInputFiles({ name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from(CSV.join('\n')) }),
    shows: /will be refused/,
  },
  {
    name: 'import',
    who: 'full',
    path: '/console/imports',
    open: (page) => page.locator('[data-import]').first().click(),
    shows: /refused/i,
  },
  {
    name: 'receiver-new',
    who: 'full',
    path: '/console/receivers',
    open: press('Add receiver'),
    shows: 'Signing secret',
  },
  {
    name: 'receiver-menu',
    who: 'full',
    path: ofReceiver,
    open: press('More'),
    shows: 'Remove',
  },
  {
    name: 'receiver-edit',
    who: 'full',
    path: ofReceiver,
    open: (page) => choose(page, 'Edit'),
    shows: 'Signing secret',
  },
  {
    name: 'receiver-remove',
    who: 'full',
    path: ofReceiver,
    open: (page) => choose(page, 'Remove'),
    shows: 'Remove this receiver?',
  },
  {
    name: 'receiver-no-match',
    who: 'full',
    path: (stage) => `${ofReceiver(stage)}?status=dead`,
    shows: 'No delivery matches',
  },
  { name: 'receiver-missing', who: 'full', path: '/console/receivers/999999', shows: 'Receiver not found' },
  { name: 'receiver-test', who: 'full', path: ofReceiver, open: press('Test'), shows: /^Answered in/ },
  { name: 'redeliver', who: 'full', path: ofReceiver, open: press('Redeliver these …'), shows: /will be sent again/ },
  {
    name: 'delivery',
    who: 'full',
    path: (stage) => `${ofReceiver(stage)}?delivery=${stage.full.delivery}`,
    shows: 'Payload',
  },
  {
    name: 'delivery-headers',
    who: 'full',
    path: (stage) => `${ofReceiver(stage)}?delivery=${stage.full.delivery}&view=headers`,
    shows: /signature/i,
  },
  {
    name: 'delivery-missing',
    who: 'full',
    path: (stage) => `${ofReceiver(stage)}?delivery=999`,
    shows: 'Delivery not found',
  },
  { name: 'phone-off', who: 'full', path: '/console/phone', shows: 'The sandbox is off' },
  { name: 'role-refused', who: 'agent', path: '/console/receivers', shows: /needs the role Developer or Admin/ },
  { name: 'home-developer', who: 'developer', path: '/console/', shows: 'Failing' },
]
