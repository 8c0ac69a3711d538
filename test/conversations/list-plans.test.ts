import { describe, expect, test } from 'vitest'
import { findPlace, listMessages } from '../../src/conversations/conversation-store.ts'
import { listConversations } from '../../src/conversations/list/conversation-list-store.ts'
import type { Db } from '../../src/db/connect.ts'
import { plansOf } from '../query-plans.ts'
import { writeUnmirrored } from '../run/mirrors.ts'
import { startTestService } from '../service.ts'

const service = await startTestService({ mirrors: true })

describe('plans', () => {
  test('no statement of the lists scans a table or sorts it, at twenty thousand rows', async () => {
    const company = await service.createCompany()
    const { db } = service
    const id = company.companyId
    const chat = await writeUnmirrored(db, (tx) => fill(tx, id, 20_000))
    await db`analyze conversations, conversation_activity, contacts, messages, message_reactions`
    const plans = await plansOf(service.databaseUrl, async (tx) => {
      for (const offset of [0, 19_980, 12_000]) await listConversations(tx, id, { offset, limit: 20, total: 20_000 })
      const now = new Date()
      const conversation = { id: chat, createdAt: now, updatedAt: now }
      for (const from of [1, 10_000, 19_971]) await listMessages(tx, id, conversation, { from, to: from + 29 })
      await findPlace(tx, id, { ...conversation, messageCount: 20_000, expiredCount: 0 }, 1)
    })
    expect(plans.length).toBeGreaterThanOrEqual(7)
    for (const plan of plans)
      expect(plan).not.toMatch(/Seq Scan on (conversations|conversation_activity|messages|contacts)/)
  })
})

/** Writes so many conversations of a company, and as many messages of one of them; returns its id. */
async function fill(tx: Db, companyId: number, rows: number): Promise<number> {
  await tx`
    insert into contacts (company_id, source, source_type) select ${companyId}, 'x', 'x' from generate_series(1, ${rows}::integer)
  `
  await tx`
    with customer as (
      insert into customers (company_id, contact_id, phone)
      select company_id, id, id::text from contacts where company_id = ${companyId}
      returning id
    )
    insert into conversations (company_id, sender_id, customer_id)
    select ${companyId}, (select id from senders where company_id = ${companyId}), customer.id
    from customer
  `
  await tx`
    insert into conversation_activity (company_id, conversation_id, active_at, sender_id)
    select company_id, id, now() - customer_id * interval '1 second', sender_id
    from conversations where company_id = ${companyId}
  `
  const [row] = await tx<{ id: number }[]>`
    update conversations set message_count = ${rows}
    where company_id = ${companyId} and id = (select min(id) from conversations where company_id = ${companyId})
    returning id
  `
  await tx`
    insert into messages (company_id, conversation_id, seq, direction, type, status)
    select ${companyId}, ${row!.id}, n, 'inbound', 'text', 'received' from generate_series(1, ${rows}::integer) as n
  `
  return row!.id
}
