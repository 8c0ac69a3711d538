import { beforeAll, expect, test } from 'vitest'
import { findHidden } from '../../src/http/paging/hidden-matches.ts'
import { inboxOf, providerOf, textFrom } from '../provider-webhook.ts'
import { startTestService, type TestService, uniquePhone } from '../service.ts'

let company: Awaited<ReturnType<TestService['createCompany']>>
const CHATS = '/whatsapp/conversations'

beforeAll(async () => {
  const service = await startTestService({ mirrors: false })
  company = await service.createCompany()
  for (const [firstName, status] of [
    ['Ann', 'blocked'],
    ['Anna', 'blocked'],
    ['Joanna', 'active'],
  ] as const) {
    await company.api('POST', '/contacts', { phone: uniquePhone(), firstName, status, tags: [firstName] })
  }
  for (const name of ['Zoe One', 'Zoe Two', 'Zoe Three']) {
    const phone = uniquePhone()
    await providerOf(service).named(company.phoneNumberId, name, textFrom(phone, 'Hello'))
    const { chatId } = await inboxOf(company).find(phone)
    await company.api('PATCH', `${CHATS}/${chatId}`, {
      status: 'closed',
      ...(name === 'Zoe One' && { assignee: 'Mara' }),
    })
  }
}, 300_000)

const read = async (path: string) => (await company.api('GET', path)).body

test.each([
  ['/contacts?search=ann&status=snoozed', { total: 3, totalIsExact: true, filters: ['status'] }],
  ['/contacts?search=ann&status=active&tag=Ann', { total: 3, totalIsExact: true, filters: ['status', 'tag'] }],
  ['/contacts?search=ann&status=active&emailConsent=yes', { total: 1, totalIsExact: true, filters: ['emailConsent'] }],
  [
    '/contacts?search=ann&emailConsent=yes&field=A:b',
    { total: 3, totalIsExact: true, filters: ['emailConsent', 'field'] },
  ],
  ['/contacts?search=ann&status=blocked', null],
  ['/contacts?search=nobody&status=blocked', null],
  ['/contacts?search=nobody', null],
  ['/contacts?search=ann', null],
  ['/contacts?status=none', null],
  [`${CHATS}?search=zoe&status=open`, { total: 3, totalIsExact: true, filters: ['status'] }],
  [`${CHATS}?search=zo&status=open`, { total: 3, totalIsExact: true, filters: ['status'] }],
  [
    `${CHATS}?search=zoe&status=closed&assignee=Nobody&unread=true`,
    { total: 3, totalIsExact: true, filters: ['assignee'] },
  ],
  [`${CHATS}?search=zoe&status=open&assignee=Mara`, { total: 1, totalIsExact: true, filters: ['status'] }],
  [`${CHATS}?search=zoe&status=closed`, null],
  [`${CHATS}?search=nobody&status=open`, null],
  [`${CHATS}?status=snoozed`, null],
  [CHATS, null],
])('%s says %j', async (path, hidden) => {
  const { data, hiddenMatches } = await read(path)
  expect(hiddenMatches ?? null).toEqual(hidden)
  if (hidden !== null) expect(data).toEqual([])
})

test('only the filters that hide matches alone are named, if there are any', async () => {
  // Matches by the filters that they pass.
  const matches = [['a'], ['a', 'c']]
  const count = async (kept: readonly string[]) => ({
    total: matches.filter((passes) => kept.every((name) => passes.includes(name))).length,
    isExact: true,
  })
  expect(await findHidden(['a', 'b'], count)).toEqual({ total: 2, totalIsExact: true, filters: ['b'] })
  expect(await findHidden(['a', 'b', 'c'], count)).toEqual({ total: 1, totalIsExact: true, filters: ['b'] })
  expect(await findHidden(['b', 'd'], count)).toEqual({ total: 2, totalIsExact: true, filters: ['b', 'd'] })
  expect(await findHidden(['a'], async () => ({ total: 0, isExact: true }))).toBeNull()
})
