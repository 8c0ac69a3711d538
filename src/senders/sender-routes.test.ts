import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestApi, createTestKey } from '../../test/api.ts'
import { createTestDatabase } from '../../test/database.ts'
import { operatorDeps } from '../../test/operator-deps.ts'
import { createCompany } from '../companies/company.ts'
import { connectSender, removeSender } from './sender-admin.ts'
import { senderRoutes } from './sender-routes.ts'

const { db } = await createTestDatabase({ mirrors: true })
const { app } = await createTestApi({
  db,
  routes: async (server) => void (await server.register(senderRoutes({ db }))),
})
afterAll(() => app.close())
let companyId: number
const idOf = new Map<number, number>()

const connect = (owner: number, index: number) =>
  connectSender(operatorDeps(db), owner, {
    provider: 'meta',
    phoneNumber: `+1 555 ${1_000_000 + index}`,
    phoneName: `Shop ${index}`,
    phoneNumberId: `listed-${owner}-${index}`,
    wabaAccountId: 'waba-1',
    accessToken: 'EAAverysecret',
    isPreferred: index === 2,
  })

beforeAll(async () => {
  companyId = (await createCompany(db, { name: 'Acme' })).id
  const other = (await createCompany(db, { name: 'Other' })).id
  for (let index = 1; index <= 25; index += 1) idOf.set(index, (await connect(companyId, index)).id)
  await connect(other, 1)
  const gone = await connect(companyId, 99)
  await removeSender(operatorDeps(db), companyId, gone.id)
})

async function list(query = '', caller = companyId) {
  const { headers } = await createTestKey(db, { companyId: caller })
  const reply = await app.inject({ url: `/public/v1/templates/whatsapp/senders${query}`, headers })
  return { status: reply.statusCode, ...reply.json() }
}

it("lists the company's own connected numbers, oldest first, redacted", async () => {
  const { status, items, pagination } = await list('?pageSize=3')
  const shown = (index: number, isPreferred: boolean) => ({
    channelId: idOf.get(index),
    phoneNumber: `+1 555 ${1_000_000 + index}`,
    phoneName: `Shop ${index}`,
    phoneNumberId: `listed-${companyId}-${index}`,
    isPreferred,
  })
  expect(status).toBe(200)
  expect(items).toEqual([shown(1, false), shown(2, true), shown(3, false)])
  expect(pagination).toEqual({
    totalRecords: 25,
    currentPage: 1,
    totalPages: 9,
    nextPage: 2,
    prevPage: null,
    nextCursor: String(idOf.get(3)),
  })
})

it.each([
  ['', 20, { currentPage: 1, totalPages: 2, nextPage: 2, prevPage: null }],
  ['?page=2', 5, { currentPage: 2, totalPages: 2, nextPage: null, prevPage: 1 }],
  ['?page=9', 0, { currentPage: 9, nextPage: null, prevPage: 2 }],
  ['?pageSize=1000', 25, { totalPages: 1, nextPage: null }],
  ['?page=x&pageSize=-1', 20, { currentPage: 1, totalPages: 2 }],
  ['?page=999999999999&pageSize=100', 0, { nextPage: null, prevPage: 1 }],
])('pages never fail: %s', async (query, length, pagination) => {
  const answer = await list(query)
  expect(answer.status).toBe(200)
  expect(answer.items).toHaveLength(length)
  expect(answer.pagination).toMatchObject({ totalRecords: 25, ...pagination })
})

it('is empty for a company without any number', async () => {
  const { id } = await createCompany(db, { name: 'New' })
  expect(await list('', id)).toEqual({
    status: 200,
    items: [],
    pagination: { totalRecords: 0, currentPage: 1, totalPages: 0, nextPage: null, prevPage: null, nextCursor: null },
  })
})

it('misses no number by the cursor while numbers that were read are removed', async () => {
  const { id } = await createCompany(db, { name: 'Busy' })
  const ids: number[] = []
  for (let index = 1; index <= 5; index += 1) ids.push((await connect(id, index)).id)
  const first = await list('?pageSize=2', id)
  await removeSender(operatorDeps(db), id, ids[0] ?? 0)
  const second = await list(`?pageSize=2&after=${first.pagination.nextCursor}`, id)
  const third = await list(`?pageSize=2&after=${second.pagination.nextCursor}`, id)
  const read = [first, second, third].flatMap(({ items }) => items.map((one: { channelId: number }) => one.channelId))
  expect(read).toEqual(ids)
  expect(second.pagination).toMatchObject({ nextPage: null, prevPage: null })
  expect(third.pagination.nextCursor).toBeNull()
  expect((await list('?after=x', id)).status).toBe(422)
})
