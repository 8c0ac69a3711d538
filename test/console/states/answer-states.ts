import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import type { Stage } from './stage.ts'
import type { State } from './state.ts'

const PICTURE = fileURLToPath(new URL('../../../docs/images/phone.png', import.meta.url))
const gif = { name: 'moves.gif', mimeType: 'image/gif', buffer: Buffer.from('GIF89a') }
const sheet = { name: 'sizes.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4') }

const inFull = ({ full }: Stage) => `/console/inbox/${full.chatId}`
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).first().click()
const write = (page: Page, text: string) => page.getByLabel(/Message to/).fill(text)

/** Quick replies of the company, without storing them for the other states. */
const answerQuickReplies = (page: Page, titles: readonly string[]) =>
  page.route('**/whatsapp/quick-replies', (route) =>
    route.fulfill({
      json: {
        data: titles.map((title, id) => ({
          id,
          title,
          text: `Thank you {{name}}! This is what we answer when someone asks for ${title}.`,
          createdAt: '2026-01-01T00:00:00.000Z',
          updatedAt: '2026-01-01T00:00:00.000Z',
        })),
      },
    }),
  )
const TITLES = ['hours', 'returns', 'a title of sixty characters that is as long as a title may be']
const openQuickReplies = async (page: Page) => {
  await page.getByTitle('Your session').click()
  await page.getByRole('menuitem', { name: 'Quick replies' }).click()
}
const openHeader = async (page: Page) => {
  await press(page, 'Template')
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /order_ready/ })
    .click()
}

/** What the answer of a conversation offers, and to whom it is handed over. */
export const ANSWERS: readonly State[] = [
  {
    name: 'files',
    who: 'full',
    path: inFull,
    open: async (page) => {
      await page.locator('input[type=file]').setInputFiles(PICTURE)
      await page.locator('input[type=file]').setInputFiles([sheet, gif])
    },
    shows: /WhatsApp does not take files of this type/,
  },
  {
    name: 'files-uploading',
    who: 'one',
    path: ({ one }) => `/console/inbox/${one.chatId}`,
    prepare: (page) => page.route('**/whatsapp/media?**', () => {}),
    open: async (page) => {
      await page.locator('input[type=file]').setInputFiles([PICTURE])
      await page.locator('input[type=file]').setInputFiles([sheet])
      await write(page, 'The sizes')
      await press(page, 'Send')
    },
    shows: 'sizes.pdf',
  },
  {
    name: 'files-failed',
    who: 'one',
    path: ({ one }) => `/console/inbox/${one.chatId}`,
    prepare: (page) => page.route('**/whatsapp/media?**', (route) => route.abort()),
    open: async (page) => {
      await page.locator('input[type=file]').setInputFiles([PICTURE])
      await press(page, 'Send')
    },
    shows: /The upload failed/,
  },
  {
    name: 'quick-replies',
    who: 'full',
    path: inFull,
    prepare: (page) => answerQuickReplies(page, TITLES),
    open: (page) => write(page, '/'),
    shows: '/returns',
  },
  {
    name: 'quick-replies-none',
    who: 'agent',
    path: inFull,
    prepare: (page) => answerQuickReplies(page, []),
    open: (page) => press(page, 'Insert a quick reply'),
    shows: 'No quick reply yet',
  },
  {
    name: 'quick-replies-dialog',
    who: 'developer',
    path: '/console/receivers',
    prepare: (page) => answerQuickReplies(page, TITLES),
    open: openQuickReplies,
    shows: '/returns',
  },
  {
    name: 'quick-replies-dialog-empty',
    who: 'developer',
    path: '/console/receivers',
    prepare: (page) => answerQuickReplies(page, []),
    open: openQuickReplies,
    shows: 'No quick reply yet',
  },
  {
    name: 'quick-replies-edit',
    who: 'developer',
    path: '/console/receivers',
    prepare: (page) => answerQuickReplies(page, TITLES),
    open: async (page) => {
      await openQuickReplies(page)
      await press(page, 'Edit returns')
    },
    shows: /stands for the name of the contact/,
  },
  {
    name: 'quick-replies-delete',
    who: 'developer',
    path: '/console/receivers',
    prepare: (page) => answerQuickReplies(page, TITLES),
    open: async (page) => {
      await openQuickReplies(page)
      await press(page, 'Delete returns')
    },
    shows: /Delete the quick reply/,
  },
  {
    name: 'send-later',
    who: 'full',
    path: inFull,
    open: async (page) => {
      await write(page, 'See you tomorrow!')
      await press(page, 'Schedule for later')
      await page.getByLabel('Date and time').fill('2030-01-01T09:00')
    },
    shows: /The 24-hour window closes on/,
  },
  {
    name: 'assign',
    who: 'full',
    path: inFull,
    prepare: (page) =>
      page.route('**/whatsapp/assignees', (route) => {
        const names = [
          'Zoë Martin',
          'Jonas Berg',
          'A name as long as a name of an assignee can be, which no one has '.repeat(2),
        ]
        return route.fulfill({ json: { data: names.map((name) => ({ name, signedInAt: null })) } })
      }),
    open: (page) =>
      page
        .getByRole('button', { name: /^Assign(ee: .*)?$/ })
        .first()
        .click(),
    shows: 'Jonas Berg',
  },
  {
    name: 'template-header',
    who: 'full',
    path: inFull,
    open: openHeader,
    shows: /Or upload an image/,
  },
  {
    name: 'template-upload',
    who: 'full',
    path: inFull,
    prepare: (page) => page.route('**/whatsapp/media?**', () => {}),
    open: async (page) => {
      await openHeader(page)
      await page.getByRole('dialog').locator('input[type=file]').setInputFiles(PICTURE)
    },
    shows: 'phone.png',
  },
]
