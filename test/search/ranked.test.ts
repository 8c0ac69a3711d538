import { beforeAll, describe, expect, test } from 'vitest'
import { providerOf, textFrom } from '../provider-webhook.ts'
import { writeUnmirrored } from '../run/mirrors.ts'
import { startTestService, type TestService, uniquePhone } from '../service.ts'

type Company = Awaited<ReturnType<TestService['createCompany']>>

let service: TestService
let company: Company
/** From the oldest to the newest: names that a search of "ann" finds at the start of a word, or inside one. */
const NAMES = [
  'Ann One',
  'Joanna Two',
  'Mary-Ann Three',
  'Hanna Four',
  "O'Ann Five",
  'Susanne Six',
  'Änn Seven',
  'Gianni Eight',
]
const RANKED = [
  'Änn Seven',
  "O'Ann Five",
  'Mary-Ann Three',
  'Ann One',
  'Gianni Eight',
  'Susanne Six',
  'Hanna Four',
  'Joanna Two',
]

beforeAll(async () => {
  service = await startTestService({ mirrors: false })
  company = await service.createCompany()
  const provider = providerOf(service)
  for (const name of NAMES) {
    await company.api('POST', '/contacts', { phone: uniquePhone(), firstName: name })
    await provider.named(company.phoneNumberId, name, textFrom(uniquePhone(), 'Hello'))
  }
}, 300_000)

const read = async (path: string) => (await company.api('GET', path)).body
type Contact = { first_name: string }
type Chat = { chatId: number; contact: { name: string } }
const nameOfContact = ({ first_name }: Contact) => first_name
const nameOfChat = ({ contact }: Chat) => contact.name

describe.each([
  { list: '/contacts', size: 'limit', nameOf: nameOfContact as (row: never) => string },
  { list: '/whatsapp/conversations', size: 'pageSize', nameOf: nameOfChat as (row: never) => string },
])('$list', ({ list, size, nameOf }) => {
  const names = async (query: string): Promise<string[]> => (await read(`${list}?${query}`)).data.map(nameOf)

  test.each([
    'ann',
    'ANN',
    'än',
  ])('%s at the start of a word comes before one inside a word, newest first', async (search) => {
    expect(await names(`search=${encodeURIComponent(search)}`)).toEqual(RANKED)
  })

  test.each([1, 3, 5])('pages of %i by number and by cursor show each once, in both directions', async (limit) => {
    const byNumber: string[] = []
    const byCursor: string[] = []
    let cursor = ''
    for (let page = 1; page <= Math.ceil(NAMES.length / limit); page += 1) {
      byNumber.push(...(await names(`search=ann&${size}=${limit}&page=${page}`)))
      const walked = await read(`${list}?search=ann&${size}=${limit}${cursor}`)
      byCursor.push(...walked.data.map(nameOf))
      cursor = `&before=${walked.pagination.nextCursor}`
      if (walked.pagination.previousCursor !== null && cursor !== '') {
        const back = await names(`search=ann&${size}=100&after=${walked.pagination.previousCursor}`)
        expect(back).toEqual(byCursor.slice(0, byCursor.length - walked.data.length))
      }
      if (byCursor.length === NAMES.length) expect(walked.pagination.nextCursor).toBeNull()
    }
    expect(byNumber).toEqual(RANKED)
    expect(byCursor).toEqual(RANKED)
  })
})

test('an explicit sort of contacts is kept', async () => {
  const { data } = await read('/contacts?search=ann&sort=created_at')
  expect(data.map(nameOfContact)).toEqual(NAMES)
})

test('the id of a conversation as a cursor goes on by activity', async () => {
  const four = (await read('/whatsapp/conversations?search=hanna')).data[0]
  const { data } = await read(`/whatsapp/conversations?search=ann&before=${four.chatId}`)
  expect(data.map(nameOfChat)).toEqual(['Mary-Ann Three', 'Joanna Two', 'Ann One'])
})

test('contacts found by the index in a large list are ranked too', async () => {
  const large = await service.createCompany()
  for (const firstName of NAMES) await large.api('POST', '/contacts', { phone: uniquePhone(), firstName })
  await writeUnmirrored(
    service.db,
    (tx) => tx`
      insert into contacts (company_id, email, email_key, search_text, source, source_type)
      select ${large.companyId}, email, email, email, 'API', 'database'
      from (select 'p' || n || '@example.com' as email from generate_series(1, 12000) as n) as input
    `,
  )
  await service.db`analyze contacts`
  const { body } = await large.api('GET', '/contacts?search=ann')
  expect(body.data.map(nameOfContact)).toEqual(RANKED)
  // Without three letters the list is walked, and a page reads a part of it.
  const walked = await large.api('GET', '/contacts?search=an&limit=3')
  expect(walked.body.pagination).toMatchObject({ totalIsExact: false })
  const ranked = await large.api('GET', `/contacts?search=an&limit=3&before=${body.pagination.nextCursor ?? ''}`)
  expect(ranked.status).toBe(422)
})

test('a cursor of a ranked list goes on when the list is no longer ranked, without leaving anyone out', async () => {
  const growing = await service.createCompany()
  for (const firstName of NAMES) await growing.api('POST', '/contacts', { phone: uniquePhone(), firstName })
  const { body: first } = await growing.api('GET', '/contacts?search=an&limit=3')
  expect(first.data.map(nameOfContact)).toEqual(RANKED.slice(0, 3))
  await writeUnmirrored(
    service.db,
    (tx) => tx`
      insert into contacts (company_id, email, email_key, search_text, source, source_type, created_at)
      select ${growing.companyId}, email, email, email, 'API', 'database', now() - interval '1 day'
      from (select 'p' || n || '@example.com' as email from generate_series(1, 12000) as n) as input
    `,
  )
  const seen = new Set(first.data.map(nameOfContact))
  for (let cursor = first.pagination.nextCursor; cursor !== null; ) {
    const { body } = await growing.api('GET', `/contacts?search=an&limit=3&before=${cursor}`)
    for (const contact of body.data) seen.add(contact.first_name)
    cursor = body.pagination.nextCursor
  }
  expect([...seen].toSorted()).toEqual(NAMES.toSorted())
})
