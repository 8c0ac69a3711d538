import type { Page } from 'playwright-core'
import type { State } from './state.ts'

const FAILED = 'The service could not read this part.'
const press = (name: string) => (page: Page) => page.getByRole('button', { name, exact: true }).first().click()
const search = (label: string) => (page: Page) => page.getByLabel(label).first().fill('nobody has this name')
const EVENTS = Array.from({ length: 30 }, (_, at) => ({
  ...{ id: 100 - at, state: at % 3 === 0 ? 'unreadable' : 'failed', wabaAccountId: null, app: null },
  reason: at % 3 === 0 ? 'more than 64 levels: the item is too deep' : 'canceling statement due to statement timeout',
  phoneNumberId: at % 2 === 0 ? '106540352242922' : '208899112233445',
  receivedAt: new Date(Date.now() - at * 3_600_000).toISOString(),
}))
const UNROUTABLE = EVENTS.map((event, at) => ({
  ...event,
  state: at % 4 === 0 ? 'unverified' : 'unroutable',
  reason: 'No connected number has this phone_number_id',
}))
/** Events of the installation, without storing them for the other states. */
const answerEvents = (events: readonly object[]) => (page: Page) =>
  page.route(/\/admin\/v1\/\w+-events/, (route) =>
    route.fulfill({ json: route.request().method() === 'POST' ? { success: true, count: 12 } : events }),
  )

/** Screens of operators, and those that only they may see. */
export const OPERATOR_STATES: readonly State[] = [
  { name: 'companies', who: 'operator', path: '/console/companies', shows: 'Company 3 of Italy' },
  {
    name: 'companies-no-match',
    who: 'operator',
    path: '/console/companies',
    open: search('Search'),
    shows: 'No company matches',
  },
  { name: 'companies-failed', who: 'operator', path: '/console/companies', answers: 'failed', shows: FAILED },
  { name: 'companies-slow', who: 'operator', path: '/console/companies', answers: 'slow', shows: 'Company 3 of Italy' },
  { name: 'companies-refused', who: 'full', path: '/console/companies', shows: 'Only operators may see this.' },
  { name: 'events', who: 'operator', path: '/console/events', prepare: answerEvents(EVENTS), shows: /too deep/ },
  {
    name: 'events-unroutable',
    who: 'operator',
    path: '/console/events?list=unroutable',
    prepare: answerEvents(UNROUTABLE),
    shows: '106540352242922',
    differsOnPhone: true,
  },
  {
    name: 'events-tried',
    who: 'operator',
    path: '/console/events?reason=deep',
    prepare: answerEvents(EVENTS),
    open: press('Retry 30 events'),
    shows: /^Retrying 12 events/,
  },
  {
    name: 'events-empty',
    who: 'operator',
    path: '/console/events',
    prepare: answerEvents([]),
    shows: 'No failed events',
  },
  {
    name: 'events-no-match',
    who: 'operator',
    path: '/console/events?reason=none',
    prepare: answerEvents([]),
    shows: 'No events match',
  },
  { name: 'events-failed', who: 'operator', path: '/console/events', answers: 'failed', shows: FAILED },
  { name: 'events-slow', who: 'operator', path: '/console/events', answers: 'slow', shows: 'No failed events' },
  { name: 'events-refused', who: 'full', path: '/console/events', shows: 'Only operators may see this.' },
  { name: 'no-company', who: 'operator', path: '/console/inbox', shows: /company/i },
  {
    name: 'acting',
    who: 'acting',
    path: (stage) => `/console/inbox?as=${stage.full.companyId}`,
    shows: /You act for|acting for/i,
  },
]
