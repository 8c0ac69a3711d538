import { beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase } from '../../../../test/database.ts'
import { completeHeld, createCompany, envelope, register, startHeld } from '../../../../test/webhook-fixture.ts'
import { renewAll } from '../../../../test/webhooks/renew-all.ts'
import { updateRegistrationRow } from '../../registrations/registration-store.ts'
import { enqueueDeliveries } from '../delivery-store.ts'
import { advanceRedelivery, MOST_WAITING, redeliverRange } from './redelivery.ts'

const { db } = await createTestDatabase({ mirrors: true })
const DAY_MS = 86_400_000
const range = (changes: { onlyDeadLettered?: boolean; since?: Date; until?: Date } = {}) => ({
  since: new Date(Date.now() - DAY_MS),
  until: new Date(Date.now() + DAY_MS),
  onlyDeadLettered: false,
  ...changes,
})

let companyId: number
let registrationId: number
beforeEach(async () => {
  companyId = await createCompany(db)
  registrationId = (await register(db, companyId)).id
})

const redeliver = (changes = {}) => redeliverRange({ db }, companyId, registrationId, range(changes))
const waiting = async () => (await db`select from redeliveries where company_id = ${companyId}`).length
const jobs = async () => (await db`select from jobs where company_id = ${companyId}`).length
const rounds = async () =>
  (await db<{ round: number }[]>`select round from deliveries where company_id = ${companyId} order by id`).map(
    ({ round }) => round,
  )
const finish = async (status: 'dead' | 'delivered', upTo = 1_000_000) => db`
  update deliveries set status = ${status}, finished_at = clock_timestamp()
  where company_id = ${companyId} and id in (
    select id from deliveries where company_id = ${companyId} and status = 'pending' order by id limit ${upTo}
  )
`
async function enqueue(count: number): Promise<void> {
  const made = Math.random()
  await enqueueDeliveries(
    db,
    Array.from({ length: count }, (_, n) => envelope(companyId, `w${made}-${n}`)),
  )
}

it('answers the number of deliveries found, and renews them in steps of 100', async () => {
  await enqueue(250)
  await finish('dead')
  expect(await redeliver()).toBe(250)
  expect(new Set(await rounds())).toEqual(new Set([1]))
  expect(await renewAll(db, companyId)).toBe(3)
  expect(await rounds()).toEqual(Array(250).fill(2))
  expect([
    await waiting(),
    await db`select from deliveries where company_id = ${companyId} and status <> 'pending'`,
  ]).toEqual([0, []])
})

it('adds nothing for deliveries that wait for an earlier redelivery', async () => {
  await enqueue(5)
  await finish('dead')
  for (let n = 0; n < 25; n += 1) expect(await redeliver()).toBe(5)
  expect(await redeliver({ onlyDeadLettered: true })).toBe(5)
  expect([await waiting(), await jobs()]).toEqual([1, 1])
  await renewAll(db, companyId)
  expect(await rounds()).toEqual(Array(5).fill(2))
})

it('adds nothing for requests that arrive together', async () => {
  await enqueue(5)
  await finish('dead')
  expect(await Promise.all(Array.from({ length: 8 }, () => redeliver()))).toEqual(Array(8).fill(5))
  expect(await waiting()).toBe(1)
})

it('renews what overlapping ranges share once', async () => {
  await enqueue(6)
  await finish('dead', 3)
  await finish('delivered')
  expect(await redeliver({ onlyDeadLettered: true })).toBe(3)
  expect(await redeliver()).toBe(6)
  expect(await waiting()).toBe(2)
  const [first, second] = await db<{ id: number }[]>`
    select id from redeliveries where company_id = ${companyId} order by id
  `
  const advance = (id: number) => advanceRedelivery({ db, onRenewed: () => {} }, companyId, id)
  await advance(first!.id)
  // The receivers answer before the second range is renewed.
  await finish('delivered')
  await advance(second!.id)
  expect(await rounds()).toEqual([2, 2, 2, 2, 2, 2])
})

it('renews a delivery again that ended again before the second request', async () => {
  await enqueue(1)
  await finish('dead')
  for (const round of [2, 3]) {
    expect(await redeliver()).toBe(1)
    await renewAll(db, companyId)
    await finish('dead')
    expect(await rounds()).toEqual([round])
  }
})

it('leaves deliveries alone that ended after the request', async () => {
  await enqueue(2)
  await finish('dead', 1)
  expect(await redeliver()).toBe(1)
  await finish('delivered')
  await renewAll(db, companyId)
  expect(await rounds()).toEqual([2, 1])
})

it('knows when an attempt ended a delivery', async () => {
  const [enqueued] = await enqueueDeliveries(db, [envelope(companyId, 'attempted')])
  const [started] = await startHeld(db, [enqueued!])
  const outcome = { statusCode: 200, response: 'ok', errorMessage: null, durationMs: 1, sentAt: new Date() }
  await completeHeld(db, [{ ...started!, ...outcome, next: 'delivered' }])
  const [row] = await db`select finished_at is not null as is_known from deliveries where company_id = ${companyId}`
  expect(row).toEqual({ isKnown: true })
})

it('ends with its registration', async () => {
  await enqueue(2)
  await finish('dead')
  await redeliver()
  await updateRegistrationRow(db, companyId, registrationId, { status: 'inactive' })
  expect(await renewAll(db, companyId)).toBe(1)
  expect([await rounds(), await waiting()]).toEqual([[1, 1], 0])
})

it('refuses a further range while 100 of the company wait', async () => {
  await enqueue(1)
  await finish('dead')
  await redeliver()
  const later = new Date(Date.now() + DAY_MS)
  await db`
    insert into redeliveries (company_id, registration_id, since, until, only_dead_lettered)
    select ${companyId}, ${registrationId}, ${later}, ${later}, true from generate_series(2, ${MOST_WAITING})
  `
  expect(await redeliver()).toBe(1)
  await enqueue(1)
  await finish('dead')
  await expect(redeliver()).rejects.toMatchObject({ status: 422 })
})

describe('a step that dies', () => {
  it.each([
    ['before the deliveries', 'deliveries', 'before update'],
    ['after the deliveries', 'deliveries', 'after update'],
    ['before its progress', 'redeliveries', 'before update or delete'],
    ['after its progress', 'redeliveries', 'after update or delete'],
  ])('%s has done nothing, and every delivery is renewed once', async (_, table, moment) => {
    await enqueue(150)
    await finish('dead')
    await redeliver()
    const [{ id }] = await db<[{ id: number }]>`select id from redeliveries where company_id = ${companyId}`
    const advance = () => advanceRedelivery({ db, onRenewed: () => {} }, companyId, id)
    for (const isLast of [false, true]) {
      await db.unsafe(`
        create function die() returns trigger language plpgsql as $$ begin raise exception 'dies'; end $$;
        create trigger die ${moment} on ${table} for each row when (pg_trigger_depth() = 0) execute function die();
      `)
      await expect(advance()).rejects.toThrow('dies')
      await db.unsafe(`drop trigger die on ${table}; drop function die();`)
      expect(await advance()).toBe(!isLast)
    }
    expect(await advance()).toBe(false)
    expect(await rounds()).toEqual(Array(150).fill(2))
  })
})
