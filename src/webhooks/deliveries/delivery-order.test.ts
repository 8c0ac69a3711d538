import fc from 'fast-check'
import { pino } from 'pino'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { countRiskyLocks } from '../../../test/locking-plans.ts'
import { propertyRuns } from '../../../test/run/property-runs.ts'
import {
  claimRequest,
  createCompany,
  envelope,
  hold,
  register,
  statusOf,
  testCipher,
} from '../../../test/webhook-fixture.ts'
import { systemClock } from '../../platform/clock.ts'
import { recoverJobs, releaseJobs } from '../../queue/job-store.ts'
import { createWorker } from '../../queue/worker.ts'
import { createDeliverer } from '../attempts/deliver.ts'
import { claimDeliveries } from './claim-deliveries.ts'
import { holdBack, releaseHeldBack } from './delivery-order-store.ts'
import {
  completeAttempts,
  DELIVER,
  DELIVERIES,
  type DeliveryRef,
  enqueueDeliveries,
  type HeldDelivery,
  type StartedAttempt,
  startAttempts,
} from './delivery-store.ts'
import { renewDelivery } from './redelivery/redelivery-store.ts'

const { db, url } = await createTestDatabase()
let companyId: number
let eventNumber = 0

beforeEach(async () => {
  await db`truncate deliveries, delivery_attempts, envelopes, registrations`
  companyId = await createCompany(db)
  await register(db, companyId, { ordered: true })
})

const [today] = await db<[{ day: number }]>`select (now() at time zone 'UTC')::date - date '1970-01-01' as day`
const request = { ...claimRequest(2), leaseMs: 60_000, days: { first: today.day - 1, last: today.day + 1 } }

const add = async (conversationId: number | null): Promise<DeliveryRef> => {
  eventNumber += 1
  const [enqueued] = await enqueueDeliveries(db, [{ ...envelope(companyId, `e${eventNumber}`), conversationId }])
  return enqueued!
}

type Running = StartedAttempt & { claimId: string }

/** Claims, starts and holds back deliveries like a worker. */
async function claimAndStart(): Promise<Running[]> {
  const { jobs } = await claimDeliveries(db, request)
  const held = jobs.map(({ id, claimId }): HeldDelivery => ({ companyId, deliveryId: id, claimId }))
  const claimOf = new Map(held.map(({ deliveryId, claimId }) => [deliveryId, claimId]))
  const started = await startAttempts(db, held)
  const waiting = started.filter(({ waits }) => waits).map(({ deliveryId }) => deliveryId)
  const isWaiting = ({ deliveryId }: HeldDelivery) => waiting.includes(deliveryId)
  const parked = await db.begin((tx) => holdBack(tx, held.filter(isWaiting)))
  const free = held.filter(
    ({ deliveryId }) => waiting.includes(deliveryId) && !parked.has(`${companyId}.${deliveryId}`),
  )
  const claims = free.map(({ deliveryId: id, claimId }) => ({ id, claimId }))
  if (claims.length > 0) await releaseJobs(db, claims, DELIVERIES)
  return started.filter(({ waits }) => !waits).map((one) => ({ ...one, claimId: claimOf.get(one.deliveryId) ?? '' }))
}

const complete = ({ claimId, ...started }: Running, next: 'delivered' | 'dead' | Date) =>
  completeAttempts(db, [
    {
      claim: { claimId },
      record: {
        ...started,
        statusCode: 500,
        response: '',
        errorMessage: 'no',
        durationMs: 1,
        sentAt: new Date(),
        next,
      },
      afterMs: next instanceof Date ? 0 : undefined,
    },
  ])

const earlierOf = async (deliveryId: number) => {
  const rows = await db<{ id: number }[]>`
    select earlier.id
    from deliveries delivery
    join deliveries earlier on earlier.conversation_id = delivery.conversation_id and earlier.id < delivery.id
    where delivery.id = ${deliveryId} and earlier.status = 'pending'
  `
  return rows.map(({ id }) => id)
}

test('a later delivery waits until the earlier one is delivered or dead; other conversations and events do not', async () => {
  const first = await add(1)
  await add(1)
  const [other, none] = [await add(2), await add(null)]
  const started: Running[] = []
  for (let claims = 0; claims < 3; claims += 1) started.push(...(await claimAndStart()))
  expect(started.map(({ deliveryId }) => deliveryId)).toEqual([first, other, none].map(({ deliveryId }) => deliveryId))
  await complete(started[0]!, new Date())
  const [retried, ...more] = [...(await claimAndStart()), ...(await claimAndStart())]
  expect([retried?.deliveryId, retried?.attempt, more]).toEqual([first.deliveryId, 2, []])
  await complete(retried!, 'dead')
  expect(await claimAndStart()).toHaveLength(1)
})

test('a delivery that waits for one that is gone is released', async () => {
  const [first, second] = [await add(1), await add(1)]
  await claimAndStart()
  await db`update deliveries set status = 'skipped', claim_id = null, lease_until = null where id = ${first.deliveryId}`
  expect(await claimAndStart()).toEqual([])
  expect(await releaseHeldBack(db, 10)).toBe(1)
  expect((await claimAndStart()).map(({ deliveryId }) => deliveryId)).toEqual([second.deliveryId])
})

test('a delivery that is held back while the earlier one completes is released', async () => {
  await add(1)
  const second = await add(1)
  const [running] = await claimAndStart()
  await db`update deliveries set waits_for = null where id = ${second.deliveryId}`
  const [held] = await hold(db, [second])
  let completing: Promise<void> | undefined
  await db.begin(async (tx) => {
    expect((await holdBack(tx, [held!])).size).toBe(1)
    completing = complete(running!, 'delivered')
    // The completion waits for holdBack's lock on the earlier delivery.
    for (let waiting = 0; waiting === 0; ) {
      const [row] = await db<[{ count: number }]>`
        select count(*)::int as count from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%complete_attempts%'
      `
      waiting = row.count
    }
  })
  await completing
  expect((await claimAndStart()).map(({ deliveryId }) => deliveryId)).toEqual([second.deliveryId])
})

test('no statement locks rows and looks up partitions by values of other rows', async () => {
  const [first, second] = [await add(1), await add(1)]
  const held = await hold(db, [first, second])
  const risky = await countRiskyLocks(url, async (watched) => {
    expect((await startAttempts(watched, held)).map(({ waits }) => waits)).toEqual([false, true])
    const waiting = await watched.begin((tx) => holdBack(tx, held))
    expect(waiting).toEqual(new Set([`${companyId}.${second.deliveryId}`]))
    await watched`update deliveries set status = 'skipped', claim_id = null, lease_until = null where id = ${first.deliveryId}`
    expect(await releaseHeldBack(watched, 10)).toBe(1)
  })
  expect(risky).toBe(0)
})

test('when the registration is deactivated, deliveries that wait for one another end together', async () => {
  const deliveries = [await add(1), await add(1), await add(1), await add(1)]
  for (let claims = 0; claims < 4; claims += 1) await claimAndStart()
  await db`update registrations set status = 'inactive'`
  await db`update deliveries set claim_id = null, lease_until = null where lease_until is not null`
  const log = pino({ level: 'silent' })
  const receiver = { post: () => Promise.reject(new Error('Nothing is posted')) }
  const deps = { db, log, receiver, cipher: testCipher, clock: systemClock, serviceName: 'Service', random: () => 0 }
  const worker = createWorker({ db, log }, [createDeliverer(deps).kind])
  onTestFinished(() => worker.stop(0))
  await vi.waitFor(
    async () => {
      const statuses = await Promise.all(deliveries.map(async (one) => (await statusOf(db, one))?.status))
      expect(statuses).toEqual(Array(4).fill('skipped'))
    },
    { timeout: 90_000 },
  )
})

type Command = { kind: 'add' | 'claim' | 'deliver' | 'fail' | 'kill' | 'replay'; place: number }

const anyCommand: fc.Arbitrary<Command> = fc.record({
  kind: fc.constantFrom('add', 'add', 'add', 'claim', 'claim', 'claim', 'deliver', 'fail', 'fail', 'kill', 'replay'),
  place: fc.nat({ max: 9 }),
})

/** Plays commands, checks each start, then delivers the rest. */
async function play(commands: readonly Command[]): Promise<void> {
  const enqueued: DeliveryRef[] = []
  let running: Running[] = []
  const start = async () => {
    for (const one of await claimAndStart()) {
      expect(await earlierOf(one.deliveryId)).toEqual([])
      running.push(one)
    }
  }
  for (const { kind, place } of commands) {
    const one = running[place % Math.max(running.length, 1)]
    if (kind === 'add') enqueued.push(await add(1 + (place % 2)))
    if (kind === 'claim') await start()
    if (kind === 'kill') {
      await db`update deliveries set lease_until = now() - interval '6 s' where lease_until is not null`
      await recoverJobs(db, [DELIVER], 1_000, DELIVERIES)
      running = []
    }
    if (kind === 'replay' && enqueued.length > 0)
      await renewDelivery(db, companyId, enqueued[place % enqueued.length]!.deliveryId)
    if (one !== undefined && (kind === 'deliver' || kind === 'fail')) {
      await complete(one, kind === 'deliver' ? 'delivered' : one.attempt === 5 ? 'dead' : new Date())
      running = running.filter((other) => other !== one)
    }
  }
  for (let rounds = 0; rounds < 10 * enqueued.length + 10; rounds += 1) {
    for (const one of running) await complete(one, 'delivered')
    running = []
    await start()
  }
  const states = await Promise.all(enqueued.map((one) => statusOf(db, one)))
  expect(states.filter((one) => one?.status === 'pending')).toEqual([])
}

test('with failures, kills and replays none starts before an earlier one of its conversation has finished, and all end', {
  timeout: 300_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyCommand, { maxLength: 40 }), async (commands) => {
      await db`truncate deliveries, delivery_attempts, envelopes`
      await play(commands)
    }),
    { numRuns: propertyRuns(20) },
  )
})
