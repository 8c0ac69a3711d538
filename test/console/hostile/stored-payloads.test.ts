import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { storeDeadLetters } from '../../../src/inbound/handling/unhandled/dead-letter-store.ts'
import { ADMIN_TOKEN } from '../../api.ts'
import { atFileEnd } from '../../file-end.ts'
import { openPage } from '../world/console-page.ts'
import { type HostileStage, quoted, startHostileStage } from './hostile-stage.ts'
import { PAYLOADS } from './payloads.ts'

/** What no stored text may become: a program, a frame, a form, a place of another host. */
const BECOME = `[...document.querySelectorAll('*')].filter((one) =>
    one.matches('iframe, object, embed, base, meta[http-equiv], [srcdoc], script:not([src^="/console/"]), [ran]') ||
    one.getAttributeNames().some((name) => name.startsWith('on')) ||
    ['href', 'src', 'action', 'formaction', 'data', 'poster', 'xlink:href'].some((name) =>
      /^\\s*(javascript|data:text|vbscript|(https?:)?\\/\\/evil)/i.test(one.getAttribute(name) ?? '')) ||
    /url\\(|evil/.test(one.getAttribute('style') ?? '')
  ).map((one) => one.outerHTML.slice(0, 200))`
const SHOWN = `document.body.innerText + [...document.querySelectorAll('input, textarea, option, [title], [aria-label]')]
  .map((one) => [one.value, one.title, one.ariaLabel].join(' ')).join(' ')`

type View = {
  name: string
  as?: 'operator' | 'company'
  path: string | ((stage: HostileStage) => string)
  open?: (page: Page, stage: HostileStage) => Promise<unknown>
  /** Payloads that it shows at least; absent: one. */
  shows?: number
}

const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true }).first().click()
const choose = async (page: Page, name: string) => {
  await press(page, 'More')
  await page.getByRole('menuitem', { name }).click()
}
const ofMenu = (name: string) => async (page: Page) => {
  await page.getByTitle('Your session').click()
  await page.getByRole('menuitem', { name }).click()
}
const ofKinds = ({ kinds }: HostileStage) => `/console/inbox/${kinds}`
const ofContact = ({ contact }: HostileStage) => `/console/contacts/${contact}`
const ofReceiver = ({ receiver }: HostileStage) => `/console/receivers/${receiver}`
const ofDelivery = (view: string) => (stage: HostileStage) =>
  `${ofReceiver(stage)}?delivery=${stage.delivery}&view=${view}`
const IN_ADDRESS = encodeURIComponent(PAYLOADS.join(' ').slice(0, 1_000))

const VIEWS: readonly View[] = [
  { name: 'companies', as: 'operator', path: '/console/companies', shows: PAYLOADS.length },
  {
    name: 'companies searched',
    as: 'operator',
    path: '/console/companies',
    open: (page) => page.getByLabel('Search').first().fill('<script>'),
  },
  { name: 'events', as: 'operator', path: '/console/events', open: (page) => keepEvents(page), shows: 10 },
  {
    name: 'events of the address',
    as: 'operator',
    path: `/console/events?list=unroutable&reason=${IN_ADDRESS}&number=${IN_ADDRESS}`,
  },
  { name: 'acting', as: 'operator', path: ({ company }) => `/console/inbox?as=${company.companyId}`, shows: 5 },
  { name: 'inbox', path: '/console/inbox', shows: 5 },
  { name: 'texts', path: ({ texts }) => `/console/inbox/${texts}`, shows: 40 },
  { name: 'kinds', path: ofKinds, shows: 15 },
  {
    name: 'contact of a conversation',
    path: ofKinds,
    open: async (page) => {
      const button = page.getByRole('button', { name: 'Contact details' })
      if (await button.isVisible()) await button.click()
    },
  },
  { name: 'assignees', path: ofKinds, open: (page) => press(page, /^Assign(ee: .*)?$/) },
  { name: 'status of a conversation', path: ofKinds, open: (page) => press(page, /Status of the conversation/) },
  {
    name: 'quick replies',
    path: ofKinds,
    open: (page) => page.getByLabel(/Message to/).fill('/'),
    shows: 10,
  },
  {
    name: 'sending later',
    path: ofKinds,
    open: async (page) => {
      await page.getByLabel(/Message to/).fill(PAYLOADS.slice(0, 5).join('\n'))
      await press(page, 'Schedule for later')
    },
  },
  {
    name: 'template',
    path: ofKinds,
    open: async (page) => {
      await press(page, 'Template')
      await page
        .getByRole('dialog')
        .getByRole('button', { name: /order_of_payloads/ })
        .click()
    },
    shows: 10,
  },
  { name: 'contacts', path: '/console/contacts', shows: 15 },
  { name: 'contact', path: ofContact, shows: 25 },
  { name: 'contact field', path: ofContact, open: (page, { field }) => press(page, `Edit ${field}`) },
  { name: 'archive', path: ofContact, open: (page) => choose(page, 'Archive') },
  { name: 'erasure', path: ofContact, open: (page) => choose(page, 'Erase') },
  { name: 'custom fields', path: '/console/custom-fields', shows: 3 },
  { name: 'custom field', path: '/console/custom-fields', open: (page, { field }) => press(page, `Edit ${field}`) },
  {
    name: 'import preview',
    path: '/console/imports',
    open: async (page) => {
      const lines = [
        'email,first_name,"<img src=x onerror=ran(0)>"',
        ...PAYLOADS.map((one) => [one, one, one].map(quoted).join()),
      ]
      const file = { name: `${PAYLOADS[3]}.csv`, mimeType: 'text/csv', buffer: Buffer.from(lines.join('\n')) }
      await page.locator('input[type=file]').setInputFiles(file)
    },
  },
  { name: 'import', path: '/console/imports', open: (page) => page.locator('[data-import]').first().click() },
  { name: 'receivers', path: '/console/receivers' },
  { name: 'receiver', path: ofReceiver },
  { name: 'receiver edited', path: ofReceiver, open: (page) => choose(page, 'Edit') },
  { name: 'receiver removed', path: ofReceiver, open: (page) => choose(page, 'Remove') },
  { name: 'receiver tested', path: ofReceiver, open: (page) => press(page, 'Test') },
  { name: 'redelivery', path: ofReceiver, open: (page) => press(page, 'Redeliver these …') },
  { name: 'delivery payload', path: ofDelivery('payload') },
  { name: 'delivery headers', path: ofDelivery('headers') },
  { name: 'delivery answer', path: ofDelivery('answer'), shows: 10 },
  { name: 'sessions', path: '/console/inbox', open: ofMenu('Sessions'), shows: 8 },
  { name: 'API keys', path: '/console/inbox', open: ofMenu('API keys'), shows: 8 },
  { name: 'quick replies dialog', path: '/console/inbox', open: ofMenu('Quick replies'), shows: 15 },
  {
    name: 'quick reply deleted',
    path: '/console/inbox',
    open: async (page) => {
      await ofMenu('Quick replies')(page)
      await page
        .getByRole('button', { name: /^Delete / })
        .first()
        .click()
    },
  },
  {
    name: 'quick reply edited',
    path: '/console/inbox',
    open: async (page) => {
      await ofMenu('Quick replies')(page)
      await page
        .getByRole('button', { name: /^Edit / })
        .first()
        .click()
    },
  },
  { name: 'search of the address', path: `/console/contacts?search=${IN_ADDRESS}&tag=${IN_ADDRESS}` },
  { name: 'path of the address', path: `/console/receivers/${IN_ADDRESS}?delivery=${IN_ADDRESS}&status=${IN_ADDRESS}` },
]

const stage = await startHostileStage()
const { browser, origin, service } = stage
const pages = { operator: await openAs(ADMIN_TOKEN), company: await openAs(await stage.link()) }
const seen = new Set<string>()

async function openAs(token: string) {
  const { context, page, faults } = await openPage(browser, [origin])
  atFileEnd(() => context.close())
  await page.exposeFunction('ran', (n: unknown) => faults.push(`ran: ${PAYLOADS[Number(n)] ?? n}`))
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  context.on('page', (popup) => faults.push(`popup: ${popup.url()}`))
  const [name = '', value = ''] = (await service.signIn(token)).cookie.split('=')
  await context.addCookies([{ name, value, domain: '127.0.0.1', path: '/', httpOnly: true }])
  return { page, faults }
}

/** Failed events whose reasons and numbers are payloads. */
async function keepEvents(page: Page): Promise<void> {
  await storeDeadLetters(
    service.db,
    PAYLOADS.map((reason) => ({
      ...{ state: 'failed' as const, reason, phoneNumberId: reason.slice(0, 100), wabaAccountId: null, app: null },
      ...{ body: Buffer.from('{}'), receivedAt: new Date(), eventId: null },
    })),
  )
  await page.reload()
}

/** The payloads in the page as texts. */
async function shownIn(page: Page): Promise<string[]> {
  const text = (await page.evaluate<string>(SHOWN)).replace(/\s+/g, ' ')
  return PAYLOADS.filter((one) => text.includes(one.replace(/\s+/g, ' ')))
}

test.each(VIEWS.map((view) => [view.name, view] as [string, View]))('%s', async (_, view) => {
  const { as = 'company', path, open, shows = 1 } = view
  const { page, faults } = pages[as]
  await page.goto(`${origin}${typeof path === 'string' ? path : path(stage)}`)
  await page.getByTitle('Your session').waitFor()
  await open?.(page, stage)
  await expect.poll(async () => (await shownIn(page)).length, { timeout: 60_000 }).toBeGreaterThanOrEqual(shows)
  for (const one of await shownIn(page)) seen.add(one)
  expect(await page.evaluate(BECOME)).toEqual([])
  expect(new URL(page.url()).origin).toBe(origin)
  expect(faults.splice(0)).toEqual([])
})

test('no mail is rendered: answers with its texts, or with events that nobody took, are JSON also for a browser', async () => {
  const { company, contact } = stage
  const unknown = {
    id: '1',
    changes: [{ field: PAYLOADS[3], value: { metadata: { phone_number_id: '1' }, text: PAYLOADS[3] } }],
  }
  await service.call(service.url, 'POST', '/public/v1/webhooks/whatsapp', { object: PAYLOADS[3], entry: [unknown] })
  const bearer = (token: string) => ({ authorization: `Bearer ${token}`, accept: 'text/html' })
  const paths: [string, string][] = [
    [`/public/v1/contacts/${contact}/activity`, company.key.token],
    [`/public/v1/contacts/${encodeURIComponent(PAYLOADS[3] ?? '')}`, company.key.token],
    ['/admin/v1/unroutable-events', ADMIN_TOKEN],
    ['/admin/v1/failed-events', ADMIN_TOKEN],
    [`/admin/v1/companies/${company.companyId}/email-templates`, ADMIN_TOKEN],
  ]
  const { page, faults } = pages.operator
  for (const [path, token] of paths) {
    await page.setExtraHTTPHeaders(bearer(token))
    const answer = await page.goto(`${origin}${path}`)
    expect([path, answer?.ok() || answer?.status(), await page.evaluate('document.contentType')]).toEqual([
      path,
      path.includes('%3C') ? expect.any(Number) : true,
      'application/json',
    ])
    expect(await page.evaluate(BECOME)).toEqual([])
  }
  await page.setExtraHTTPHeaders({})
  expect(faults).toEqual([])
})

test('all payloads were shown', () => expect(seen.size).toBe(PAYLOADS.length))
