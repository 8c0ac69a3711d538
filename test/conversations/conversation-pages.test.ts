import { beforeAll, describe, expect, test } from 'vitest'
import { inboxOf, providerOf, textFrom } from '../provider-webhook.ts'
import { startTestService, type TestService, uniquePhone } from '../service.ts'

const LIST = '/whatsapp/conversations'
type Company = Awaited<ReturnType<TestService['createCompany']>>
const service = await startTestService({ mirrors: true })
const provider = providerOf(service)
const idsOf = (rows: { id: number }[]) => rows.map(({ id }) => id)
const chatsOf = (rows: { chatId: number }[]) => rows.map(({ chatId }) => chatId)

describe('pages', () => {
  const COUNT = 47
  let company: Company
  let chats: number[]
  let chatId: number
  beforeAll(async () => {
    company = await service.createCompany()
    for (let n = 0; n < COUNT; n += 1) {
      await provider.post({
        entry: [
          {
            changes: [
              {
                field: 'messages',
                value: {
                  metadata: { phone_number_id: company.phoneNumberId },
                  messages: [textFrom(`3900000${100 + n}`, `n${n}`)],
                },
              },
            ],
          },
        ],
      })
    }
    const talkative = Array.from({ length: COUNT - 1 }, (_, n) => textFrom(`3900000${100}`, `m${n}`))
    await provider.messages(company.phoneNumberId, ...talkative)
    const all = await inboxOf(company).list()
    chats = chatsOf(all)
    chatId = chats[0]!
    expect(all[0].contact.phone).toBe(`3900000${100}`)
  })
  const page = async (query: string) => (await company.api('GET', `${LIST}?${query}`)).body
  const messagePage = async (query: string) => (await company.api('GET', `${LIST}/${chatId}/messages?${query}`)).body

  test('hold every conversation once, newest activity first, with the defaults of the specification', async () => {
    expect(chats).toHaveLength(COUNT)
    const first = await page('')
    expect(first.data).toHaveLength(20)
    expect(first.pagination).toMatchObject({
      totalRecords: 47,
      currentPage: 1,
      totalPages: 3,
      nextPage: 2,
      prevPage: null,
    })
    const pages = [first, await page('page=2'), await page('page=3')]
    expect(pages.flatMap(({ data }) => chatsOf(data))).toEqual(chats)
    expect(pages[2].pagination).toMatchObject({ nextPage: null, prevPage: 2 })
    for (const size of [1, 7, 46, 47, 48]) {
      const walked: number[] = []
      for (let n = 1; n <= Math.ceil(COUNT / size); n += 1) {
        walked.push(...chatsOf((await page(`page=${n}&pageSize=${size}`)).data))
      }
      expect(walked).toEqual(chats)
    }
  })

  test.each([
    ['page=0', 1, 20],
    ['page=-1', 1, 20],
    ['page=x&pageSize=y', 1, 20],
    ['pageSize=0', 1, 20],
    ['pageSize=1000', 1, 47],
    ['page=2&pageSize=1e3', 2, 20],
    ['page=9', 9, 0],
    ['page=99999999999999999999', 1_000_000_000, 0],
  ])('?%s never fails', async (query, currentPage, count) => {
    const { data, pagination } = await page(query)
    expect([data.length, pagination.currentPage, pagination.totalRecords]).toEqual([count, currentPage, 47])
    if (count === 0) expect(pagination).toMatchObject({ nextPage: null, prevPage: 3 })
  })

  test('of messages: newest first, default 30, at most 100, past the end nothing', async () => {
    const first = await messagePage('')
    expect(first.data).toHaveLength(30)
    expect(first.pagination).toEqual({ totalRecords: 47, currentPage: 1, totalPages: 2, nextPage: 2, prevPage: null })
    const all = [...first.data, ...(await messagePage('page=2')).data]
    expect(all.map(({ text }: { text: string }) => text)).toEqual([
      ...Array.from({ length: COUNT - 1 }, (_, n) => `m${COUNT - 2 - n}`),
      'n0',
    ])
    expect(idsOf(all)).toEqual(idsOf(all).toSorted((a, b) => b - a))
    expect((await messagePage('pageSize=500')).data).toHaveLength(47)
    expect((await messagePage('page=3')).pagination).toMatchObject({ nextPage: null, prevPage: 2, currentPage: 3 })
    expect((await messagePage('page=3')).data).toEqual([])
  })

  test('by cursor: before and after, in both lists', async () => {
    const all = idsOf((await messagePage('pageSize=100')).data)
    expect(idsOf((await messagePage(`before=${all[9]}&pageSize=5`)).data)).toEqual(all.slice(10, 15))
    expect(idsOf((await messagePage(`after=${all[9]}&pageSize=5`)).data)).toEqual(all.slice(4, 9))
    expect((await messagePage(`before=${all.at(-1)}`)).data).toEqual([])
    expect((await messagePage(`after=${all[0]}`)).data).toEqual([])
    expect(chatsOf((await page(`before=${chats[9]}&pageSize=5`)).data)).toEqual(chats.slice(10, 15))
    expect(chatsOf((await page(`after=${chats[9]}&pageSize=5`)).data)).toEqual(chats.slice(4, 9))
    expect(await page(`before=${chats[9]}`)).toMatchObject({ pagination: { totalRecords: 47, nextPage: null } })
    const walked: number[] = []
    for (let at: number | undefined = chats[0]; at !== undefined; at = walked.at(-1)) {
      const next = chatsOf((await page(`before=${at}&pageSize=6`)).data)
      if (next.length === 0) break
      walked.push(...next)
    }
    expect(walked).toEqual(chats.slice(1))
  })

  test('of messages, by any id: ids are ordered, also those that expired or never were', async () => {
    const { db } = service
    const short = await service.createCompany()
    const from = uniquePhone()
    for (const text of ['a', 'b', 'c', 'd', 'e', 'f'])
      await provider.messages(short.phoneNumberId, textFrom(from, text))
    const [{ chatId: chat }] = (await short.api('GET', LIST)).body.data
    const read = async (query: string) =>
      (await short.api('GET', `${LIST}/${chat}/messages?${query}`)).body.data as { id: number; text: string }[]
    const texts = async (query: string) => (await read(query)).map(({ text }) => text).join('')
    const [, , d, , b, a] = (await read('')).map(({ id }) => id) as [number, number, number, number, number, number]
    expect(await texts('after=1&pageSize=2')).toBe('ba')
    expect(await texts(`after=${Number.MAX_SAFE_INTEGER}`)).toBe('')
    expect(await texts(`before=${Number.MAX_SAFE_INTEGER}&pageSize=2`)).toBe('fe')
    expect(await texts('before=1')).toBe('')
    // A message of another conversation lies between two of this one.
    await db`delete from messages where company_id = ${short.companyId} and id = ${d}`
    expect(await texts(`after=${d}`)).toBe('fe')
    expect(await texts(`before=${d}`)).toBe('cba')
    await db`delete from messages where company_id = ${short.companyId} and id = any(${[a, b]}::bigint[])`
    await db`update conversations set expired_count = 2 where company_id = ${short.companyId} and id = ${chat}`
    for (const expired of [a, b]) expect(await texts(`after=${expired}&pageSize=2`)).toBe('c')
    expect(await texts(`after=${b}`)).toBe('fec')
    expect(await texts(`before=${b}`)).toBe('')
  })

  test('by the cursors of the pages: forth and back, over every conversation once', async () => {
    const walk = async (side: 'before' | 'after', member: 'nextCursor' | 'previousCursor', from: string) => {
      const seen: number[][] = []
      for (let cursor: string | null = from; cursor !== null; ) {
        const { data, pagination } = await page(`${side}=${cursor}&pageSize=10`)
        seen.push(chatsOf(data))
        cursor = pagination[member]
      }
      return seen
    }
    const first = await page('pageSize=10')
    expect([chatsOf(first.data), first.pagination.previousCursor]).toEqual([chats.slice(0, 10), null])
    const forth = await walk('before', 'nextCursor', first.pagination.nextCursor)
    expect(forth).toEqual([10, 20, 30, 40].map((at) => chats.slice(at, at + 10)))
    const last = await page('page=5&pageSize=10')
    expect([chatsOf(last.data), last.pagination.nextCursor]).toEqual([chats.slice(40), null])
    const back = await walk('after', 'previousCursor', last.pagination.previousCursor)
    expect(back).toEqual([30, 20, 10, 0].map((at) => chats.slice(at, at + 10)))
    const filtered = await page('status=open&pageSize=10')
    expect(chatsOf((await page(`before=${filtered.pagination.nextCursor}&status=open&pageSize=10`)).data)).toEqual(
      chats.slice(10, 20),
    )
  })

  test('a cursor of a page keeps its place when its conversation becomes active', async () => {
    const quiet = await service.createCompany()
    const phones = Array.from({ length: 6 }, uniquePhone)
    for (const from of phones) await provider.messages(quiet.phoneNumberId, textFrom(from, 'hi'))
    const read = async (query: string) => (await quiet.api('GET', `${LIST}?pageSize=2&${query}`)).body
    const customers = (rows: { contact: { phone: string } }[]) => rows.map(({ contact }) => contact.phone)
    const first = await read('')
    expect(customers(first.data)).toEqual([phones[5], phones[4]])
    await provider.messages(quiet.phoneNumberId, textFrom(phones[4]!, 'again'))
    const second = await read(`before=${first.pagination.nextCursor}`)
    expect(customers(second.data)).toEqual([phones[3], phones[2]])
    expect(customers((await read(`before=${first.data[1].chatId}`)).data)).toEqual([phones[5], phones[3]])
  })

  test('the first page leads to the next one also when the count of conversations is older than the page', async () => {
    const busy = await service.createCompany()
    for (const from of Array.from({ length: 3 }, uniquePhone)) {
      await provider.messages(busy.phoneNumberId, textFrom(from, 'hi'))
    }
    await service.db`insert into conversation_counts (company_id, writer, total) values (${busy.companyId}, -1, -1)`
    const { data, pagination } = (await busy.api('GET', `${LIST}?pageSize=2`)).body
    expect([data.length, pagination.totalRecords]).toEqual([2, 2])
    const next = (await busy.api('GET', `${LIST}?pageSize=2&before=${pagination.nextCursor}`)).body
    expect([next.data.length, next.pagination.nextCursor]).toEqual([1, null])
  })

  test('by an unknown or malformed cursor: 422 that names it', async () => {
    for (const query of ['before=x', 'before=0', 'before=', 'after=999999999', 'before=-5', 'after=1.5']) {
      const refused = { error: { code: 'validation_error', details: { fields: [{ path: query.split('=')[0] }] } } }
      for (const path of query.endsWith('999') ? [LIST] : [LIST, `${LIST}/${chatId}/messages`]) {
        const answer = await company.api('GET', `${path}?${query}`)
        expect([answer.status, answer.body], `${path}?${query}`).toMatchObject([422, refused])
      }
    }
  })

  test('of nothing at all', async () => {
    const empty = await service.createCompany()
    expect((await empty.api('GET', LIST)).body).toMatchObject({
      data: [],
      pagination: { totalRecords: 0, currentPage: 1, totalPages: 0, nextPage: null, prevPage: null },
    })
  })

  test('of a conversation that is missing or another company’s: the same 404', async () => {
    const foreign = await service.createCompany()
    for (const [who, id] of [
      [foreign, chatId],
      [company, 999_999_999],
      [company, 'abc'],
      [company, '-1'],
    ] as [Company, number | string][]) {
      const answer = await who.api('GET', `${LIST}/${id}/messages`)
      expect([answer.status, answer.body]).toEqual([404, { message: 'Conversation not found' }])
    }
    // Another company's ids as cursors are unknown.
    expect((await foreign.api('GET', `${LIST}?before=${chatId}`)).status).toBe(422)
  })

  test('need the permission', async () => {
    const weak = await service.createCompany({ permissions: ['Transactional'] })
    for (const path of [LIST, `${LIST}/1/messages`]) expect((await weak.api('GET', path)).status).toBe(403)
    expect((await weak.api('PATCH', `${LIST}/1`, { status: 'closed' })).status).toBe(403)
  })
})
