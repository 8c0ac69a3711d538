import { beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import {
  completeHeld,
  createCompany,
  envelope,
  hold,
  register,
  startHeld,
  statusOf,
} from '../../../test/webhook-fixture.ts'
import { connect } from '../../db/connect.ts'
import { systemClock } from '../../platform/clock.ts'
import { readHealth } from '../registrations/registration-health-store.ts'
import { findRegistration, updateRegistrationRow } from '../registrations/registration-store.ts'
import { type DeliveryRef, enqueueDeliveries } from './delivery-store.ts'
import { endDeliveries, shouldPause } from './end-deliveries.ts'
import { listLogs } from './log/delivery-log-store.ts'
import { renewDelivery } from './redelivery/redelivery-store.ts'

const { db, url } = await createTestDatabase()
const DAY_MS = 24 * 3_600_000
let companyId: number
let registrationId: number
let expired: DeliveryRef[]
let paused: object[]

beforeEach(async () => {
  await db`truncate deliveries, delivery_attempts, envelopes, registrations`
  companyId = await createCompany(db)
  registrationId = (await register(db, companyId)).id
})

const end = async (pool = db) => {
  expired = []
  paused = []
  const onExpired = (some: readonly DeliveryRef[]) => expired.push(...some)
  const onPaused = (one: object) => paused.push(one)
  const deps = { db: pool, clock: systemClock, deadlineHours: 24, onExpired, onPaused }
  await endDeliveries(deps, new AbortController().signal)
}

await db`select make_delivery_days(1, 2)`

const add = async (eventId: string): Promise<DeliveryRef> => {
  const [enqueued] = await enqueueDeliveries(db, [envelope(companyId, eventId)])
  return { companyId, deliveryId: enqueued!.deliveryId, registrationId }
}

/** Creates a delivery of the given age on its day. */
const addPast = async (eventId: string, hours: number): Promise<DeliveryRef> => {
  const { deliveryId } = await add(eventId)
  const [moved] = await db<[{ id: number }]>`
    with past as (
      select at, (at at time zone 'UTC')::date - date '1970-01-01' as day
      from (select now() - ${hours} * interval '1 hour' as at) as creation
    ),
    envelope as (
      update envelopes set day = past.day from past where event_id = ${eventId}
    )
    update deliveries
    set id = past.day * 1000000000::bigint + id % 1000000000, day = past.day, created_at = past.at
    from past
    where id = ${deliveryId}
    returning id
  `
  return { companyId, deliveryId: moved.id, registrationId }
}

async function attempt(delivery: DeliveryRef, next: 'delivered' | 'dead' | Date, sentAt = new Date()): Promise<void> {
  const [started] = await startHeld(db, [delivery])
  const isDone = next === 'delivered'
  await completeHeld(db, [
    {
      ...{ ...started!, statusCode: isDone ? 200 : 500, response: '', durationMs: 1, sentAt, next },
      errorMessage: isDone ? null : 'the receiver answered 500',
    },
  ])
}

describe('a delivery that has not finished at its deadline', () => {
  it('is dead-lettered with a row in the log that says so; younger, finished and running ones are not', async () => {
    const never = await addPast('1', 25)
    const tried = await addPast('2', 25)
    const young = await addPast('3', 23)
    const done = await addPast('4', 25)
    const running = await addPast('5', 25)
    await attempt(tried, new Date())
    await attempt(done, 'delivered')
    await hold(db, [running])
    await end()
    expect(expired.map(({ deliveryId }) => deliveryId)).toEqual([never.deliveryId, tried.deliveryId])
    expect(await statusOf(db, never)).toMatchObject({ status: 'dead', attempts: 0 })
    expect(await statusOf(db, tried)).toMatchObject({ status: 'dead', attempts: 1 })
    expect(await statusOf(db, young)).toMatchObject({ status: 'pending' })
    expect(await statusOf(db, done)).toMatchObject({ status: 'delivered' })
    expect(await statusOf(db, running)).toMatchObject({ status: 'pending' })
    const errorMessage = 'expired: not delivered within 24 hours'
    expect(await listLogs(db, companyId, registrationId, { status: 'dead' })).toMatchObject([
      { deliveryId: tried.deliveryId, attempt: 2, errorMessage, deadLettered: true, statusCode: null },
      { deliveryId: never.deliveryId, attempt: 1, errorMessage, deadLettered: true, statusCode: null },
    ])
    await end()
    expect(expired).toEqual([])
  })

  it('has a new deadline after a redelivery', async () => {
    const delivery = await addPast('1', 25)
    await end()
    expect(await renewDelivery(db, companyId, delivery.deliveryId)).toBe(true)
    await end()
    expect(await statusOf(db, delivery)).toMatchObject({ status: 'pending', round: 2 })
    await db`update deliveries set renewed_at = now() - interval '25 hours'`
    await end()
    expect(await statusOf(db, delivery)).toMatchObject({ status: 'dead', round: 2 })
  })

  it('ends also when runs failed for the service’s own reasons, without another of its day, or of a deleted registration', async () => {
    await addPast('1', 25)
    await db`update deliveries set failed_at = now()`
    const other = connect(url) // knows of no open day yet
    await end(other)
    await other.end()
    expect(expired).toHaveLength(1)
    await addPast('2', 25)
    await db`update registrations set deleted_at = now()`
    await end()
    expect(expired).toHaveLength(1)
  })
})

it('deliveries that waited for one that has ended are released, however many', async () => {
  await db`
    insert into deliveries (company_id, registration_id, event, event_id, waits_for)
    select ${companyId}, ${registrationId}, 'e', n::text, 1 from generate_series(1, 1001) as n
  `
  await end()
  const held = await db`select from deliveries where waits_for is not null limit 1`
  expect(held).toHaveLength(0)
})

describe('a registration', () => {
  /** Creates dead letters with a last attempt `daysAgo` days ago. */
  const deadLetters = (count: number, daysAgo = 1) => db`
    insert into delivery_attempts (
      company_id, registration_id, delivery_id, round, attempt, error_message, duration_ms, dead_lettered, sent_at
    )
    select ${companyId}, ${registrationId}, n, 1, 5, 'the receiver answered 500', 1, true, now() - ${daysAgo} * interval '1 day'
    from generate_series(1, ${count}::int) as n
  `
  const activeSince = (days: number) => db`update registrations set active_since = now() - ${days} * interval '1 day'`
  const state = async () => {
    const row = await findRegistration(db, companyId, registrationId)
    return { status: row?.status, pausedReason: row?.pausedReason, isPaused: row?.pausedAt !== null }
  }
  const PAUSED = { status: 'inactive', pausedReason: 'no_success', isPaused: true }
  const ACTIVE = { status: 'active', pausedReason: null, isPaused: false }

  it('is paused after five days without a success and a hundred dead letters, and resumes when it is set active', async () => {
    await activeSince(6)
    await deadLetters(100)
    await end()
    expect(await state()).toEqual(PAUSED)
    expect(paused).toEqual([{ companyId, id: registrationId }])
    await updateRegistrationRow(db, companyId, registrationId, { name: 'Other' })
    expect(await state()).toEqual(PAUSED)
    await updateRegistrationRow(db, companyId, registrationId, { status: 'active' })
    expect(await state()).toEqual(ACTIVE)
    await end()
    expect(await state()).toEqual(ACTIVE)
  })

  it('is not paused while it is active for less than five days, has fewer dead letters, or had a success', async () => {
    await activeSince(4)
    await deadLetters(200)
    await end()
    expect(await state()).toEqual(ACTIVE)
    await db`truncate delivery_attempts`
    await activeSince(30)
    await deadLetters(99)
    await deadLetters(100, 31)
    await end()
    expect(await state()).toEqual(ACTIVE)
    await attempt(await add('1'), 'delivered')
    await deadLetters(100)
    await end()
    expect(await state()).toEqual(ACTIVE)
    // The success must survive the drop of its day.
    await db`truncate deliveries`
    await end()
    expect(await state()).toEqual(ACTIVE)
  })

  it('shows its last success and failure, failures in a row, what waits, and dead letters of the last day', async () => {
    const none = { lastSuccessAt: null, lastFailureAt: null, consecutiveFailures: 0, waiting: 0, deadLettered24h: 0 }
    const health = async () => (await readHealth(db, companyId)).get(registrationId)
    expect(await health()).toEqual(none)
    const at = (minutes: number) => new Date(Date.now() - minutes * 60_000)
    const [early, success, failure, last] = [at(50), at(40), at(30), at(20)]
    await attempt(await add('1'), 'dead', early)
    await attempt(await add('2'), 'delivered', success)
    const third = await add('3')
    await attempt(third, new Date(), failure)
    await attempt(third, 'dead', last)
    await add('4')
    const now = { lastSuccessAt: success, lastFailureAt: last, consecutiveFailures: 2, waiting: 1, deadLettered24h: 2 }
    expect(await health()).toEqual(now)
    const failed = at(15)
    await attempt(await add('5'), new Date(), failed)
    const [fifth] = await db<DeliveryRef[]>`
      select company_id, id as delivery_id, registration_id from deliveries where event_id = '5'
    `
    const repeated = at(10)
    await attempt(fifth!, 'delivered', repeated)
    expect(await health()).toMatchObject({ lastSuccessAt: repeated, consecutiveFailures: 0, waiting: 1 })
    await end()
    await db`truncate deliveries, delivery_attempts`
    expect(await health()).toEqual({ ...none, lastSuccessAt: repeated, lastFailureAt: failed })
  })
})

it.each([
  [5, 100, true],
  [5, 99, false],
  [4.99, 1_000, false],
])('%d days without a success and %i dead letters: paused %o', (days, deadLettersSince, isPaused) => {
  const now = new Date('2026-11-23T00:00:00Z')
  const facts = { quietSince: new Date(now.getTime() - days * DAY_MS), deadLetters: deadLettersSince }
  expect(shouldPause(facts, now)).toBe(isPaused)
})
