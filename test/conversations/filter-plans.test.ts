import { expect, test } from 'vitest'
import {
  findLookedAtEnd,
  listConversationsFrom,
  listFiltered,
} from '../../src/conversations/list/conversation-list-store.ts'
import type { ConversationFilter } from '../../src/conversations/list/conversation-source.ts'
import type { Db } from '../../src/db/connect.ts'
import { plansOf } from '../query-plans.ts'
import { writeUnmirrored } from '../run/mirrors.ts'
import { startTestService, type TestService } from '../service.ts'

const LIST = '/whatsapp/conversations'
const service = await startTestService({ mirrors: true })
type Company = Awaited<ReturnType<TestService['createCompany']>>
const read = async (company: Company, query: string) => (await company.api('GET', `${LIST}?${query}`)).body

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
  const plans = await plansOf(service.databaseUrl, async (db) => {
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
  const found = await plansOf(service.databaseUrl, async (db) => {
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
