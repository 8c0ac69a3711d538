import { expect, onTestFinished, test } from 'vitest'
import { countIndexReads } from '../../../test/conversations/index-reads.ts'
import { dataFolder } from '../../../test/parley-process.ts'
import { createRoles } from '../../../test/schema/roles.ts'
import { createCompany, createSender } from '../../../test/world.ts'
import { connect, type Pool } from '../connect.ts'
import { startEmbedded } from '../embedded/start.ts'
import { migrate } from '../migration/migrate.ts'
import { analyzeGrownTables } from './statistics-store.ts'

const ROWS = 20_000

/** Contacts whose ids follow `from`. */
const addContacts = (db: Pool, companyId: number, from: number, count: number) => db`
  insert into contacts (company_id, id, source, source_type)
  select ${companyId}, ${from}::bigint + i, 'API', 'test' from generate_series(1, ${count}::int) as i
`

test('a session that planned while tables were empty finds its rows by key on a server that gathers no statistics itself', async () => {
  const server = await startEmbedded(dataFolder(), { fsync: 'off', autovacuum: 'off' })
  onTestFinished(() => server.stop())
  const [session, other] = [connect(server.url, { max: 1 }), connect(server.url, { max: 1 })]
  onTestFinished(async () => void (await Promise.all([session.end(), other.end()])))
  await migrate(other)
  const companyId = await createCompany(other)
  const senderId = await createSender(other, companyId)
  await addContacts(other, companyId, 0, 1)
  /** Conversations whose ids follow `from`. */
  const addConversations = (from: number, count: number) => other`
    with customer as (
      insert into customers (company_id, id, contact_id)
      select ${companyId}, ${from}::bigint + i, 1 from generate_series(1, ${count}::int) as i
      returning id
    )
    insert into conversations (company_id, id, sender_id, customer_id)
    overriding system value
    select ${companyId}, id, ${senderId}, id from customer
  `
  /** The place in the list of each of ten conversations; returns the rows of conversations that the foreign-key checks read. */
  const checks = (from: number): Promise<number> =>
    countIndexReads(session, 'conversations', async () => {
      for (let id = from + 1; id <= from + 10; id += 1) {
        await session`
          insert into conversation_activity (company_id, conversation_id, active_at, sender_id)
          values (${companyId}, ${id}, now(), ${senderId})
        `
      }
    })

  await addConversations(0, 10)
  await checks(0)
  await addConversations(10, ROWS)
  expect(await checks(ROWS)).toBeGreaterThan(ROWS)
  expect(await analyzeGrownTables(other)).toBeGreaterThan(0)
  expect(await checks(ROWS - 10)).toBeLessThan(100)

  // Until a table has grown tenfold again there is nothing to do.
  expect(await analyzeGrownTables(other)).toBe(0)
  await addConversations(ROWS + 10, ROWS)
  expect(await analyzeGrownTables(other)).toBe(0)
}, 300_000)

test('the runtime role, which owns no table, gathers statistics; a role without rights may not', async () => {
  const { ownerUrl, runtimeUrl } = await createRoles()
  const [owner, runtime] = [connect(ownerUrl, { max: 1 }), connect(runtimeUrl, { max: 1 })]
  onTestFinished(async () => void (await Promise.all([owner.end(), runtime.end()])))
  await migrate(owner)
  await owner`alter table contacts set (autovacuum_enabled = false)`
  await addContacts(runtime, await createCompany(runtime), 0, ROWS)
  expect(await analyzeGrownTables(runtime)).toBeGreaterThan(0)
  const [contacts] = await owner`select reltuples::int from pg_class where oid = 'contacts'::regclass`
  expect(contacts).toEqual({ reltuples: ROWS })

  const [role] = await runtime<[{ name: string }]>`select current_user as name`
  await owner.unsafe(`revoke insert on deliveries from ${role.name}`)
  await expect(analyzeGrownTables(runtime)).rejects.toThrow('The role may not write deliveries')
})

test('a table that another session has locked is left to the next call, and the others get their statistics', async () => {
  const { ownerUrl } = await createRoles()
  const [owner, other] = [connect(ownerUrl, { max: 1 }), connect(ownerUrl, { max: 1 })]
  onTestFinished(async () => void (await Promise.all([owner.end(), other.end()])))
  await migrate(owner)
  await owner`alter table contacts set (autovacuum_enabled = false)`
  await owner`alter table companies set (autovacuum_enabled = false)`
  await addContacts(owner, await createCompany(owner), 0, ROWS)
  await owner`insert into companies (name) select 'a company' from generate_series(1, ${ROWS}::int)`
  await owner.begin(async (tx) => {
    await tx`lock table contacts in access exclusive mode`
    expect(await analyzeGrownTables(other)).toBe(1)
  })
  expect(await analyzeGrownTables(other)).toBe(1)
})
