import { beforeEach, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { IDS_A_MONTH, monthOf } from '../conversations/message-store.ts'
import { connect, type Db } from './connect.ts'
import { isContention } from './pool/failure.ts'
import { createStatementBatcher } from './statement-batcher.ts'

const { db, url } = await createTestDatabase()
const [clock] = await db<[{ now: Date; day: number }]>`
  select now() as now, (now() at time zone 'UTC')::date - date '1970-01-01' as day
`
const PRESENT = monthOf(clock.now)
const PARTITIONED = ['envelopes', 'deliveries', 'delivery_attempts', 'messages']

const listPartitions = async () =>
  await db<{ name: string; parent: string }[]>`
    select inhrelid::regclass::text as name, inhparent::regclass::text as parent
    from pg_inherits
    join pg_class child on child.oid = inhrelid
    where child.relkind = 'r'
  `

/** As after a clock that was moved, or a machine that slept until they had ended. */
async function dropPartitions(): Promise<void> {
  for (const { name } of await listPartitions())
    if (name !== 'messages_before_months') await db.unsafe(`drop table ${name}`)
}

const insertDelivery = (own: Db, day: number, eventId = 'e1') => own`
  insert into deliveries (company_id, id, day, registration_id, event, event_id)
  values (1, ${day * 1e9 + 1}, ${day}, 1, 'e', ${eventId})
`
const insertEnvelope = (own: Db, day: number) => own`
  insert into envelopes (company_id, day, event, event_id, body) values (1, ${day}, 'e', ${`e${day}`}, '{}')
`
const insertAttempt = (own: Db, day: number) => own`
  insert into delivery_attempts (company_id, day, registration_id, delivery_id, round, attempt, duration_ms, sent_at)
  values (1, ${day}, 1, 1, 1, 1, 1, now())
`
const insertMessage = (own: Db, month: number) => own`
  insert into messages (company_id, id, conversation_id, seq, direction, type, status)
  values (1, ${month * IDS_A_MONTH + 1}, 1, ${month}, 'inbound', 'text', 'received')
`

beforeEach(dropPartitions)

test('has_table and make_delivery_day see a table that another session created behind the lock', async () => {
  const other = connect(url)
  const first = await db`select has_table('deliveries_20990101') as has`
  expect(first).toEqual([{ has: false }])
  const [made] = await other<[{ made: number }]>`select make_delivery_day(${clock.day + 400}) as made`
  const [again] = await db<[{ made: number }]>`select make_delivery_day(${clock.day + 400}) as made`
  expect([made.made, again.made]).toEqual([3, 0])
  await other.end()
})

test('every partitioned table of the schema creates its partitions on demand', async () => {
  const tables = await db<{ name: string }[]>`select relname as name from pg_class where relkind = 'p' order by relname`
  expect(tables.map(({ name }) => name)).toEqual(PARTITIONED.toSorted())
})

test.each([
  ['the present', 0],
  ['eight days later', 8],
  ['a day earlier, in the month before', -31],
  ['a year later', 366],
  ['a year earlier', -366],
])('a row of %s creates the partition that it needs', async (_, daysAhead) => {
  const day = clock.day + daysAhead
  const month = monthOf(new Date(day * 86_400_000))
  await insertEnvelope(db, day)
  await insertDelivery(db, day)
  await insertAttempt(db, day)
  await insertMessage(db, month)
  const parents = (await listPartitions()).map(({ parent }) => parent)
  expect([...new Set(parents)].toSorted()).toEqual(PARTITIONED.toSorted())
})

test('a transaction that needs one fails as one that may begin again, and then succeeds', async () => {
  const work = (tx: Db) => insertDelivery(tx, clock.day)
  await expect(db.begin(work)).rejects.toSatisfy(isContention)
  await db.begin(work)
  expect(await db`select id from deliveries`).toHaveLength(1)
})

test('a batch that needs one is repeated, and none of its items fails', async () => {
  const run = createStatementBatcher<string, void>({
    maxItems: 10,
    maxRunning: 1,
    run: async (ids) => {
      await db.begin(async (tx) => {
        await insertMessage(tx, PRESENT)
        for (const [place, id] of ids.entries()) await insertDelivery(tx, clock.day + place, id)
      })
      return ids.map(() => undefined)
    },
  })
  await Promise.all(['a', 'b'].map((id) => run(id)))
  expect(await db`select event_id from deliveries order by id`).toEqual([{ eventId: 'a' }, { eventId: 'b' }])
})

test('sessions that need the same partition at the same moment all get it', async () => {
  const pools = Array.from({ length: 8 }, () => connect(url, { max: 1 }))
  await Promise.all(
    pools.map((pool) => pool`select to_regclass('messages_209901'), to_regclass('deliveries_20990101')`),
  )
  const day = clock.day + 40
  const writes = pools.flatMap((pool, place) => [
    pool`insert into deliveries (company_id, id, day, registration_id, event, event_id) values (${place}, ${day * 1e9}, ${day}, 1, 'e', 'e')`,
    pool`
      insert into messages (company_id, id, conversation_id, seq, direction, type, status)
      values (${place}, ${PRESENT * IDS_A_MONTH}, 1, 1, 'inbound', 'text', 'received')
    `,
  ])
  await Promise.all(writes)
  await Promise.all(pools.map((pool) => pool.end()))
  expect([await db`select id from deliveries`, await db`select id from messages`].map(({ length }) => length)).toEqual([
    8, 8,
  ])
})

test('a check that a row violates creates nothing', async () => {
  await insertDelivery(db, clock.day)
  await expect(db`update deliveries set status = 'other'`).rejects.toMatchObject({ code: '23514' })
})
