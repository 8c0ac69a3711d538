import { beforeEach, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import {
  claimRequest,
  completeHeld,
  createCompany,
  envelope,
  register,
  startHeld,
  statusOf,
} from '../../../test/webhook-fixture.ts'
import { connect, sql } from '../../db/connect.ts'
import { claimDeliveries } from './claim-deliveries.ts'
import { maintainDeliveryDays, makeDeliveryDays } from './delivery-days.ts'
import { enqueueDeliveries } from './delivery-store.ts'
import { findLoggedDelivery, listLogs } from './log/delivery-log-store.ts'
import { renewDelivery } from './redelivery/redelivery-store.ts'

const { db, url } = await createTestDatabase()
const TABLES = ['envelopes', 'deliveries', 'delivery_attempts']
const [today] = await db<[{ day: number }]>`select (now() at time zone 'UTC')::date - date '1970-01-01' as day`

const partitions = async (): Promise<string[]> => {
  const rows = await db<{ name: string }[]>`
    select relname as name from pg_class where relispartition and relkind = 'r' order by relname
  `
  return rows.map(({ name }) => name)
}
const nameOf = (table: string, daysAgo: number): string => {
  const day = new Date((today.day - daysAgo) * 86_400_000).toISOString().slice(0, 10)
  return `${table}_${day.replaceAll('-', '')}`
}

/** Creates the partitions of a past day. */
async function makeDay(daysAgo: number): Promise<void> {
  const day = today.day - daysAgo
  for (const table of TABLES) {
    const name = nameOf(table, daysAgo)
    await db.unsafe(`create table if not exists ${name} partition of ${table} for values from (${day}) to (${day + 1})`)
  }
}

/** Creates a delivery of a past day. */
async function pastDelivery(daysAgo: number, companyId: number, registrationId: number, state = sql`status = status`) {
  const day = today.day - daysAgo
  const [id, eventId] = [day * 1e9 + companyId, `past${daysAgo}`]
  await db`
    insert into envelopes (company_id, event, event_id, day, body)
    values (${companyId}, 'e', ${eventId}, ${day}, '{"past":true}')
  `
  await db`
    insert into deliveries (company_id, event, event_id, day, id, registration_id)
    values (${companyId}, 'e', ${eventId}, ${day}, ${id}, ${registrationId})
  `
  await db`update deliveries set ${state} where (company_id, day, id) = (${companyId}, ${day}, ${id}::bigint)`
  return { companyId, deliveryId: id, registrationId }
}

const claim = async () => {
  // A new pool has no cached days.
  const own = connect(url, { max: 1 })
  const { jobs } = await claimDeliveries(own, { ...claimRequest(9), batches: 9 }).finally(() => own.end())
  return jobs.map(({ id }) => id)
}

beforeEach(async () => {
  await db`truncate deliveries, delivery_attempts, envelopes`
})

test('the partitions of a week ahead are made once', async () => {
  await db.unsafe(`drop table ${nameOf('deliveries', -7)}`)
  expect(await makeDeliveryDays(db)).toBe(1)
  expect(await makeDeliveryDays(db)).toBe(0)
  const names = await partitions()
  for (const table of TABLES) expect(names).toContain(nameOf(table, -7))
})

test('days that are over for longer than they are kept are dropped, others stay', async () => {
  const companyId = await createCompany(db)
  const { id } = await register(db, companyId)
  for (const daysAgo of [31, 32, 30]) await makeDay(daysAgo)
  await pastDelivery(31, companyId, id, sql`status = 'delivered'`)
  await maintainDeliveryDays(db, 30)
  const names = await partitions()
  for (const table of TABLES) {
    expect(names).not.toContain(nameOf(table, 32))
    expect(names).not.toContain(nameOf(table, 31))
    expect(names).toContain(nameOf(table, 30))
    expect(names).toContain(nameOf(table, 0))
  }
})

test('time alone decides: open deliveries of one company keep nothing of another', async () => {
  const companyId = await createCompany(db)
  const { id } = await register(db, companyId)
  for (const daysAgo of [40, 41]) await makeDay(daysAgo)
  await pastDelivery(40, companyId, id)
  const lease = sql`claim_id = '00000000-0000-0000-0000-000000000001', lease_until = now()`
  await pastDelivery(41, companyId, id, lease)
  await maintainDeliveryDays(db, 30)
  const names = await partitions()
  for (const daysAgo of [40, 41]) for (const table of TABLES) expect(names).not.toContain(nameOf(table, daysAgo))
})

test('a drop that finds the table in use gives up at once and leaves it for later', async () => {
  await makeDay(50)
  await db.begin(async (tx) => {
    await tx`select count(*) from deliveries`
    const waiting = maintainDeliveryDays(db, 30)
    // A writer queued behind the drop gets its lock before the reader releases its own.
    const companyId = await createCompany(db)
    await db`insert into deliveries (company_id, registration_id, event, event_id) values (${companyId}, 1, 'e', 'w')`
    await waiting
    expect(await partitions()).toContain(nameOf('deliveries', 50))
  })
  await maintainDeliveryDays(db, 30)
  expect(await partitions()).not.toContain(nameOf('deliveries', 50))
})

test('a delivery of an earlier day is claimed, logged, found by its log id and redelivered', async () => {
  const companyId = await createCompany(db)
  const { id } = await register(db, companyId)
  await makeDay(3)
  const past = await pastDelivery(3, companyId, id)
  const [fresh] = await enqueueDeliveries(db, [envelope(companyId, 'new')])
  expect((await claim()).toSorted()).toEqual([past.deliveryId, fresh!.deliveryId])
  const end = { statusCode: 200, response: 'ok', errorMessage: null, durationMs: 1, sentAt: new Date() }
  for (const delivery of [fresh!, past]) {
    const [started] = await startHeld(db, [delivery])
    await completeHeld(db, [{ ...started!, ...end, next: 'delivered' }])
  }
  const logs = await listLogs(db, companyId, id)
  expect(logs.map((log) => [log.id, log.body])).toEqual([
    [fresh!.deliveryId, '{"wamid":"new"}'],
    [past.deliveryId, '{"past":true}'],
  ])
  expect(await listLogs(db, companyId, id, { before: fresh!.deliveryId })).toHaveLength(1)
  expect(await findLoggedDelivery(db, companyId, id, past.deliveryId)).toEqual(past)
  expect(await renewDelivery(db, companyId, past.deliveryId)).toBe(true)
  expect(await claim()).toEqual([past.deliveryId])
  const [again] = await startHeld(db, [past])
  await completeHeld(db, [{ ...again!, ...end, next: 'delivered' }])
  expect(await listLogs(db, companyId, id)).toMatchObject([
    { deliveryId: past.deliveryId, attempt: 1 },
    { id: fresh!.deliveryId },
    { id: past.deliveryId },
  ])
})

test('deliveries of two companies that have the same id are distinguished in one statement', async () => {
  const companies = [await createCompany(db), await createCompany(db)]
  const held = []
  for (const companyId of companies) {
    const { id } = await register(db, companyId)
    const deliveryId = today.day * 1e9 + 7
    await db`insert into envelopes (company_id, event, event_id, body) values (${companyId}, 'e', 'w', '{}')`
    await db`
      insert into deliveries (company_id, id, day, registration_id, event, event_id)
      values (${companyId}, ${deliveryId}, ${today.day}, ${id}, 'e', 'w')
    `
    held.push({ companyId, deliveryId, registrationId: id })
  }
  expect(await claim()).toHaveLength(2)
  const started = [...(await startHeld(db, [held[0]!])), ...(await startHeld(db, [held[1]!]))]
  const end = { statusCode: 200, response: 'ok', errorMessage: null, durationMs: 1, sentAt: new Date() }
  await completeHeld(
    db,
    started.map((one, place) => ({ ...one, ...end, next: place === 0 ? 'delivered' : 'dead' })),
  )
  expect([await statusOf(db, held[0]!), await statusOf(db, held[1]!)]).toMatchObject([
    { status: 'delivered' },
    { status: 'dead' },
  ])
})

test('a role without the right to write deliveries makes and drops no partition', async () => {
  await makeDay(60)
  await db.begin(async (tx) => {
    await tx.unsafe(`create role reader_${process.pid}; set local session authorization reader_${process.pid}`)
    await tx.savepoint((own) => own`select make_delivery_days(1)`).catch((error) => expect(error.code).toBe('42501'))
    await tx.savepoint((own) => own`select drop_delivery_day(1)`).catch((error) => expect(error.code).toBe('42501'))
    await tx.unsafe(`reset session authorization; drop role reader_${process.pid}`)
  })
  expect(await partitions()).toContain(nameOf('deliveries', 60))
})
