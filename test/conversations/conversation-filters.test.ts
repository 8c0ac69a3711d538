import { beforeAll, describe, expect, test } from 'vitest'
import type { ConversationFilter } from '../../src/conversations/list/conversation-filter.ts'
import {
  findLookedAtEnd,
  listConversationsFrom,
  listFiltered,
} from '../../src/conversations/list/conversation-list-store.ts'
import { connect, type Db } from '../../src/db/connect.ts'
import { inboxOf, providerOf, textFrom } from '../provider-webhook.ts'
import { writeUnmirrored } from '../run/mirrors.ts'
import { eventually, startTestService, type TestService, uniquePhone } from '../service.ts'

const LIST = '/whatsapp/conversations'

let service: TestService
let provider: ReturnType<typeof providerOf>
beforeAll(async () => {
  service = await startTestService({ mirrors: true })
  provider = providerOf(service)
})

type Company = Awaited<ReturnType<TestService['createCompany']>>
type Row = { chatId: number; contact: { phone: string } }

const read = async (company: Company, query: string) => (await company.api('GET', `${LIST}?${query}`)).body
const phonesOf = async (company: Company, query: string): Promise<string[]> =>
  (await read(company, query)).data.map(({ contact }: Row) => contact.phone)

describe('a filtered list', () => {
  test('shows the conversations that fit all filters, newest activity first', async () => {
    const company = await service.createCompany()
    const second = await service.connectSender(company.companyId)
    const inbox = inboxOf(company)
    const [ada, bob, cleo, dan] = [uniquePhone(), uniquePhone(), uniquePhone(), uniquePhone()] as const
    for (const phone of [ada, bob, cleo]) await provider.messages(company.phoneNumberId, textFrom(phone, 'Hello'))
    await provider.messages(second.body.phoneNumberId, textFrom(dan, 'Hello'))
    const patch = async (phone: string, change: object) =>
      company.api('PATCH', `${LIST}/${(await inbox.find(phone)).chatId}`, change)
    await patch(ada, { status: 'closed', assignee: 'Mara' })
    await patch(bob, { unreadMessages: 0 })
    await patch(cleo, { assignee: 'Mara' })

    expect(await phonesOf(company, 'status=open')).toEqual([dan, cleo, bob])
    expect(await phonesOf(company, 'status=closed')).toEqual([ada])
    expect(await phonesOf(company, 'unread=true')).toEqual([dan, cleo, ada])
    expect(await phonesOf(company, 'unread=false')).toEqual([dan, cleo, bob, ada])
    expect(await phonesOf(company, `channelId=${second.body.channelId}`)).toEqual([dan])
    expect(await phonesOf(company, 'assignee=Mara')).toEqual([cleo, ada])
    expect(await phonesOf(company, 'assignee=Mara&status=open&unread=true')).toEqual([cleo])
    await provider.messages(company.phoneNumberId, textFrom(ada, 'Again'))
    expect(await phonesOf(company, 'assignee=Mara&status=open')).toEqual([ada, cleo])
    const { chatId } = await inbox.find(ada)
    await company.api('POST', `${LIST}/${chatId}/messages`, { type: 'text', text: 'Yes' })
    expect(await phonesOf(company, 'unread=true')).toEqual([dan, cleo])
  })

  test('is not counted, and says whether another page follows', async () => {
    const company = await service.createCompany()
    const phones = Array.from({ length: 5 }, uniquePhone)
    for (const phone of phones) await provider.messages(company.phoneNumberId, textFrom(phone, 'Hello'))
    const pages = [await read(company, 'status=open&pageSize=3'), await read(company, 'status=open&pageSize=3&page=2')]
    expect(pages.map(({ pagination }) => pagination)).toMatchObject([
      { totalRecords: null, currentPage: 1, totalPages: null, nextPage: 2, prevPage: null },
      { totalRecords: null, currentPage: 2, totalPages: null, nextPage: null, prevPage: 1 },
    ])
    const [last] = pages[0].data.slice(-1)
    const behind = await read(company, `status=open&before=${last.chatId}&pageSize=3`)
    expect(behind.data).toEqual(pages[1].data)
    expect(behind.pagination).toMatchObject({ totalRecords: null, nextPage: null })
    expect((await read(company, `status=open&after=${last.chatId}`)).data).toEqual(pages[0].data.slice(0, 2))
    const tooFar = await company.api('GET', `${LIST}?status=open&pageSize=100&page=101`)
    expect([tooFar.status, tooFar.body.error.details.fields[0].path]).toEqual([422, 'page'])
    expect((await read(company, 'pageSize=3')).pagination.totalRecords).toBe(5)
  })

  test('finds contacts by a part of name, email or phone, whether few or many match', async () => {
    const company = await service.createCompany()
    const [ada, bob] = [uniquePhone(), uniquePhone()]
    for (const phone of [ada, bob]) await provider.messages(company.phoneNumberId, textFrom(phone, 'Hello'))
    const { contact } = await inboxOf(company).find(ada)
    await company.api('PUT', `/contacts/${contact.id}`, {
      firstName: 'Ada',
      lastName: 'Lövelace',
      email: 'ada@example.com',
    })
    for (const search of ['lövelace', 'ADA L', 'ada@example', ada.slice(2, 9), 'a@', 'ü']) {
      expect([search, await phonesOf(company, `search=${encodeURIComponent(search)}`)]).toEqual([
        search,
        search === 'ü' ? [] : [ada],
      ])
    }
    expect(await phonesOf(company, 'search=lace&status=closed')).toEqual([])
    expect(await phonesOf(company, 'search=%20')).toHaveLength(2)
    // Every contact matches: more than a list of ids would hold.
    await service.db`
      insert into contacts (company_id, first_name, source, source_type, search_text)
      select ${company.companyId}, 'Ada', 'x', 'x', 'ada' from generate_series(1, 3000)
    `
    expect(await phonesOf(company, 'search=ada&unread=true')).toEqual([ada])
  })

  test('finds a customer by the profile name that the list shows, in any script, with and without accents', async () => {
    const company = await service.createCompany()
    const { find } = inboxOf(company)
    const names = ['Marta Rossi', 'José Muñoz', 'Анна Петрова', '王小明', 'محمد علي', '𝓙𝓾𝓵𝓲𝓪']
    const phones = new Map(names.map((name) => [name, uniquePhone()]))
    for (const [name, phone] of phones) await provider.named(company.phoneNumberId, name, textFrom(phone, 'Hello'))
    expect((await find(phones.get('Marta Rossi')!)).contact.name).toBe('Marta Rossi')
    const searches: [string, string[]][] = [
      ['Marta', ['Marta Rossi']],
      ['rossi', ['Marta Rossi']],
      ['josé muñoz', ['José Muñoz']],
      ['MUNOZ', ['José Muñoz']],
      ['анна', ['Анна Петрова']],
      ['小明', ['王小明']],
      ['明', ['王小明']],
      ['محمد', ['محمد علي']],
      ['Julia', ['𝓙𝓾𝓵𝓲𝓪']],
      ['z', ['José Muñoz']],
      ['ma', ['Marta Rossi']],
      ['Mártá', ['Marta Rossi']],
      ['Nobody', []],
    ]
    for (const [search, found] of searches) {
      const shown = await phonesOf(company, `search=${encodeURIComponent(search)}`)
      expect([search, shown]).toEqual([search, found.map((name) => phones.get(name))])
    }
    const other = await service.createCompany()
    expect(await phonesOf(other, 'search=Marta')).toEqual([])
    const { contact } = await find(phones.get('Marta Rossi')!)
    await company.api('DELETE', `/contacts/${contact.id}?erase=true`)
    await eventually(async () => (await phonesOf(company, 'search=Marta')).length === 0)
  })

  test('shows the status of the last message', async () => {
    const company = await service.createCompany()
    const { find, messages } = inboxOf(company)
    const phone = uniquePhone()
    await provider.messages(company.phoneNumberId, textFrom(phone, 'Hello'))
    const { chatId, lastMessage } = await find(phone)
    expect(lastMessage).toMatchObject({ direction: 'inbound', status: 'received' })
    await company.api('POST', `${LIST}/${chatId}/messages`, { type: 'text', text: 'Yes' })
    const [{ wamid }] = await messages(chatId)
    await provider.statuses(company.phoneNumberId, { id: wamid, status: 'read', timestamp: '1', recipient_id: phone })
    expect((await find(phone)).lastMessage).toMatchObject({ direction: 'outbound', status: 'read' })
  })

  test.each([
    ['status=new', 'status'],
    ['unread=maybe', 'unread'],
    ['channelId=x', 'channelId'],
    [`assignee=${'x'.repeat(101)}`, 'assignee'],
    [`search=${'x'.repeat(201)}`, 'search'],
    ['channelId=1e300', 'channelId'],
    ['status=open&before=987654321', 'before'],
  ])('refuses %s', async (query, path) => {
    const company = await service.createCompany({ isConnected: false })
    const { status, body } = await company.api('GET', `${LIST}?${query}`)
    expect([400, 422]).toContain(status)
    expect(body.error.details.fields.map((field: { path: string }) => field.path)).toEqual([path])
  })

  test('shows nothing of another company', async () => {
    const [mine, other] = [await service.createCompany(), await service.createCompany()]
    const phone = uniquePhone()
    await provider.messages(other.phoneNumberId, textFrom(phone, 'Hello'))
    const [{ chatId }] = await inboxOf(other).list()
    await other.api('PATCH', `${LIST}/${chatId}`, { assignee: 'Mara' })
    for (const query of [`channelId=${other.sender.channelId}`, 'assignee=Mara', `search=${phone}`, 'status=open']) {
      expect([query, await phonesOf(mine, query)]).toEqual([query, []])
    }
    expect((await mine.api('GET', `${LIST}?status=open&before=${chatId}`)).status).toBe(422)
  })
})

test('no statement of a filtered list scans a table or sorts it, at twenty thousand conversations', async () => {
  const { companyId, sender } = await service.createCompany()
  await fill(companyId, sender.channelId)
  const filters: ConversationFilter[] = [
    { status: 'open' },
    { status: 'snoozed' },
    { isUnread: true },
    { senderId: sender.channelId },
    { assignee: 'Mara' },
    { status: 'open', isUnread: true, senderId: sender.channelId },
    { status: 'open', assignee: 'Mara' },
    { status: 'open', matches: { texts: ['ada'], profileText: 'ada' } },
  ]
  const plans = await plansOf(async (db) => {
    for (const filter of filters) {
      // Six times: then the plan no longer depends on the values.
      for (let time = 0; time < 6; time += 1) {
        const rows = await listFiltered(db, companyId, filter, { offset: 0, limit: 21 })
        expect(rows).toHaveLength(21)
        const [last] = rows.slice(-1)
        const { activityUs, id } = last!
        const cursor = { side: 'before', at: { activityUs, id } } as const
        expect(await listConversationsFrom(db, companyId, cursor, 21, filter)).toHaveLength(21)
        const ends = await Promise.all([
          findLookedAtEnd(db, companyId, filter),
          findLookedAtEnd(db, companyId, filter, cursor),
        ])
        expect(ends.map((end) => end !== undefined)).toEqual(Array(2).fill(filter.matches !== undefined))
      }
    }
  })
  expect(plans.length).toBe((filters.length + 1) * 12)
  for (const plan of plans) {
    expect(plan).not.toMatch(/Seq Scan on (conversations|conversation_activity|contacts|senders)/)
    expect(plan).not.toMatch(/Sort Key|Bitmap Heap Scan on conversation|Hash/)
  }
  // Few contacts: only their own conversations are sorted.
  const found = await plansOf(async (db) => {
    const [{ ids }] = await db<[{ ids: number[] }]>`
      select array_agg(id) as ids from (select id from contacts where company_id = ${companyId} limit 5) as few
    `
    expect(
      await listFiltered(
        db,
        companyId,
        { isRanked: true, matches: { contacts: ids.map((id) => ({ id, starts: id % 2 === 0 })), conversations: [] } },
        { offset: 0, limit: 21 },
      ),
    ).toHaveLength(5)
  })
  expect(found.join('\n')).not.toMatch(/Seq Scan on (conversations|conversation_activity)/)
  expect(found.join('\n')).toMatch(/customers_by_contact/)
}, 300_000)

test('a search that matches more than 1,000 contacts reaches every one of 25,000 conversations along the cursors', async () => {
  const company = await service.createCompany()
  const { companyId } = company
  await fill(companyId, company.sender.channelId, 25_000)
  // The contacts whose conversations were active before all others.
  const matching = await service.db<{ id: number }[]>`
    update contacts set search_text = 'zoe'
    where company_id = ${companyId} and id in (
      select id from contacts where company_id = ${companyId} order by id desc limit 1500
    )
    returning id
  `
  await service.db`analyze contacts`
  const seen: number[] = []
  const cursors: string[] = []
  for (let cursor = ''; ; ) {
    const { data, pagination } = await read(company, `search=zoe&pageSize=100${cursor}`)
    seen.push(...data.map(({ contact }: { contact: { id: number } }) => contact.id))
    if (pagination.nextCursor === null) break
    cursor = `&before=${pagination.nextCursor}`
    cursors.push(pagination.nextCursor)
  }
  expect(seen.toSorted()).toEqual(matching.map(({ id }) => id).toSorted())
  // Two pages without a match, and the rest with 100 each.
  expect(cursors.length).toBeLessThanOrEqual(18)
  // Back from the 20,000th conversation, the 10,000 before it do not match either.
  const back = await read(company, `search=zoe&pageSize=100&after=${cursors[1]}`)
  expect([back.data, back.pagination.previousCursor]).toEqual([[], expect.any(String)])
}, 300_000)

/**
 * Conversations of a company, and as many of its mirror. A tenth each: closed, snoozed, assigned; half are unread. Triggers and
 * checks of that many rows would take 25 s of processor time.
 */
async function fill(companyId: number, senderId: number, count = 20_000): Promise<void> {
  await writeUnmirrored(service.db, async (tx) => {
    for (const id of [companyId, -companyId]) await write(tx, id, senderId, count)
  })
  await service.db`analyze contacts, customers, conversations, conversation_activity`
}

async function write(tx: Db, companyId: number, senderId: number, count: number): Promise<void> {
  await tx`insert into conversation_counts (company_id, total) values (${companyId}, ${count})`
  await tx`
    insert into contacts (company_id, source, source_type, search_text)
    select ${companyId}, 'x', 'x', 'ada ' || n from generate_series(1, ${count}::int) as n
  `
  await tx`
    insert into customers (company_id, id, contact_id, phone)
    select company_id, id, id, id::text from contacts where company_id = ${companyId}
  `
  await tx`
    insert into conversations (company_id, sender_id, customer_id, status, unread_messages)
    select
      ${companyId}, ${senderId}, customer.id,
      case customer.id % 10 when 1 then 'closed' when 2 then 'snoozed' else 'open' end, customer.id % 2
    from customers customer
    where customer.company_id = ${companyId}
  `
  await tx`
    insert into conversation_activity (company_id, conversation_id, active_at, sender_id, status, is_unread, assignee)
    select
      ${companyId}, id, now() - customer_id * interval '1 second', ${senderId}, status, unread_messages > 0,
      case when customer_id % 10 = 3 then 'Mara' end
    from conversations
    where company_id = ${companyId}
  `
}

/** The plans of what is run, as the database itself reports them. */
async function plansOf(run: (db: TestService['db']) => Promise<void>): Promise<string[]> {
  const plans: string[] = []
  const watched = connect(service.databaseUrl, { max: 1, onNotice: (message) => plans.push(message) })
  try {
    await watched`load 'auto_explain'`
    await watched`select set_config('auto_explain.log_min_duration', '0', false),
      set_config('auto_explain.log_level', 'notice', false)`
    plans.length = 0
    await run(watched)
  } finally {
    await watched.end()
  }
  return plans
}
