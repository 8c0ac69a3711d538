import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createTestDatabase, readsOf } from '../../../test/database.ts'
import {
  claimRequest,
  completeHeld,
  createCompany,
  EVENT,
  envelope,
  register,
  startHeld,
  statusOf,
} from '../../../test/webhook-fixture.ts'
import { connect, type Db } from '../../db/connect.ts'
import { recoverJobs } from '../../queue/job-store.ts'
import { markRegistrationDeleted, updateRegistrationRow } from '../registrations/registration-store.ts'
import { claimDeliveries } from './claim-deliveries.ts'
import {
  type AttemptRecord,
  DELIVER,
  DELIVERIES,
  type DeliveryRef,
  enqueueDeliveries,
  type StartedAttempt,
} from './delivery-store.ts'
import { listLogs } from './log/delivery-log-store.ts'

const { db, url } = await createTestDatabase({ mirrors: true })
let companyId: number
let other: number

beforeAll(async () => {
  other = await createCompany(db, 'Other')
})

const fresh = async () => {
  companyId = await createCompany(db)
}

const record = (started: StartedAttempt, changes: Partial<AttemptRecord> = {}): AttemptRecord => ({
  ...started,
  statusCode: 500,
  response: 'no',
  errorMessage: 'the receiver answered 500',
  durationMs: 12,
  sentAt: new Date('2026-01-01T00:00:00Z'),
  next: new Date('2026-01-01T00:00:05Z'),
  ...changes,
})

const attemptRows = async (deliveryId: number) => {
  const [row] = await db`select registration_id from deliveries where company_id = ${companyId} and id = ${deliveryId}`
  const logs = await listLogs(db, companyId, row!.registrationId)
  return logs.filter((log) => log.deliveryId === deliveryId).toReversed()
}

describe('putting deliveries up', () => {
  it('makes one per active, subscribed registration of the company, and keeps the body once', async () => {
    await fresh()
    const [one, two] = [await register(db, companyId), await register(db, companyId)]
    const [off, gone] = [await register(db, companyId), await register(db, companyId)]
    await updateRegistrationRow(db, companyId, off.id, { status: 'inactive' })
    await markRegistrationDeleted(db, companyId, gone.id)
    await register(db, companyId, { events: ['another.event'] })
    await register(db, other)

    const enqueued = await enqueueDeliveries(db, [envelope(companyId, 'w1'), envelope(companyId, 'w2')])
    expect(enqueued.map(({ registrationId }) => registrationId)).toEqual([one.id, two.id, one.id, two.id])
    expect(enqueued.every((delivery) => delivery.companyId === companyId)).toBe(true)
    const bodies =
      await db`select event_id as wamid, body from envelopes where company_id = ${companyId} order by event_id`
    expect(bodies).toEqual([
      { wamid: 'w1', body: '{"wamid":"w1"}' },
      { wamid: 'w2', body: '{"wamid":"w2"}' },
    ])
  })

  it('makes none for a wamid that came before, twice in one batch, or at the same time', async () => {
    await fresh()
    await register(db, companyId)
    expect(await enqueueDeliveries(db, [envelope(companyId, 'w1'), envelope(companyId, 'w1', '{}')])).toHaveLength(1)
    await register(db, companyId)
    expect(await enqueueDeliveries(db, [envelope(companyId, 'w1')])).toEqual([])
    const racing = await Promise.all(
      Array.from({ length: 8 }, () => db.begin((tx) => enqueueDeliveries(tx, [envelope(companyId, 'w2')]))),
    )
    expect(racing.flat()).toHaveLength(2)
  })

  it('makes one for each event about one message', async () => {
    await fresh()
    await register(db, companyId, { events: [EVENT, 'another.event'] })
    const other = { ...envelope(companyId, 'w1', '{"other":true}'), event: 'another.event' }
    expect(await enqueueDeliveries(db, [envelope(companyId, 'w1')])).toHaveLength(1)
    const [enqueued] = await enqueueDeliveries(db, [other])
    expect(await startHeld(db, [enqueued!])).toMatchObject([{ event: 'another.event', body: '{"other":true}' }])
  })

  it('serves several companies at once and keeps equal wamids apart', async () => {
    await fresh()
    const second = await createCompany(db)
    await register(db, companyId)
    await register(db, second)
    const enqueued = await enqueueDeliveries(db, [
      envelope(companyId, 'same'),
      envelope(second, 'same'),
      envelope(other, 'x'),
    ])
    expect(enqueued.map((delivery) => delivery.companyId)).toEqual(expect.arrayContaining([companyId, second, other]))
  })

  it('stores nothing without a registration for it, and takes an empty batch', async () => {
    await fresh()
    expect(await enqueueDeliveries(db, [envelope(companyId, 'w1')])).toEqual([])
    expect(await db`select from envelopes where company_id = ${companyId}`).toHaveLength(0)
    expect(await enqueueDeliveries(db, [])).toEqual([])
    expect(await startHeld(db, [])).toEqual([])
    await completeHeld(db, [])
  })

  it('keeps any body to the letter', async () => {
    await fresh()
    await register(db, companyId)
    const body = '{"a":"\\u0000 \\\\ {\\"x\\"} 👋, NULL","n":12345678901234567890.10}'
    const enqueued = await enqueueDeliveries(db, [envelope(companyId, 'w"{},\\', body)])
    const [started] = await startHeld(db, enqueued)
    expect(started).toMatchObject({ body, eventId: 'w"{},\\' })
  })
})

describe('recording attempts', () => {
  it('writes one row per attempt and counts up to the dead letter', async () => {
    await fresh()
    await register(db, companyId)
    const enqueued = await enqueueDeliveries(db, [envelope(companyId, 'w1')])
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      const [started] = await startHeld(db, enqueued)
      expect(started!.attempt).toBe(attempt)
      await completeHeld(db, [record(started!, attempt === 5 ? { next: 'dead', errorMessage: 'dead-lettered …' } : {})])
    }
    expect(await statusOf(db, enqueued[0]!)).toEqual({ status: 'dead', attempts: 5, round: 1 })
    const rows = await attemptRows(enqueued[0]!.deliveryId)
    expect(rows.map(({ attempt, deadLettered }) => [attempt, deadLettered])).toEqual([
      [1, false], [2, false], [3, false], [4, false], [5, true],
    ]) // biome-ignore format: a table
    expect(await startHeld(db, enqueued)).toEqual([])
  })

  it('records many deliveries at once, each with its own end', async () => {
    await fresh()
    await register(db, companyId)
    const enqueued = await enqueueDeliveries(db, [envelope(companyId, 'w1'), envelope(companyId, 'w2')])
    const [one, two] = await startHeld(db, enqueued)
    const nothing = { statusCode: null, response: null, errorMessage: 'the receiver did not answer within 10 s' }
    await completeHeld(db, [
      record(one!, { next: 'delivered', statusCode: 200, response: 'a,{}"\\ NULL', errorMessage: null }),
      record(two!, nothing),
    ])
    expect(await statusOf(db, one!)).toMatchObject({ status: 'delivered', attempts: 1 })
    expect(await statusOf(db, two!)).toEqual({
      status: 'pending',
      attempts: 1,
      round: 1,
    })
    expect(await attemptRows(one!.deliveryId)).toMatchObject([{ statusCode: 200, response: 'a,{}"\\ NULL' }])
    expect(await attemptRows(two!.deliveryId)).toMatchObject([{ ...nothing, sentAt: new Date('2026-01-01T00:00:00Z') }])
  })

  it('changes nothing when the same attempt is recorded again or comes late', async () => {
    await fresh()
    await register(db, companyId)
    const enqueued = await enqueueDeliveries(db, [envelope(companyId, 'w1')])
    const [started] = await startHeld(db, enqueued)
    await completeHeld(db, [record(started!)])
    await completeHeld(db, [record(started!, { next: 'delivered', statusCode: 200 })])
    expect(await statusOf(db, started!)).toMatchObject({ status: 'pending', attempts: 1 })
    const [second] = await startHeld(db, enqueued)
    await completeHeld(db, [record(second!, { next: 'delivered' })])
    await completeHeld(db, [record(started!, { next: 'dead', attempt: 3 })])
    expect(await statusOf(db, started!)).toMatchObject({ status: 'delivered', attempts: 2 })
  })

  it('changes nothing when the attempt is of an earlier round', async () => {
    await fresh()
    await register(db, companyId)
    const enqueued = await enqueueDeliveries(db, [envelope(companyId, 'w1')])
    const [started] = await startHeld(db, enqueued)
    await db`update deliveries set round = 2 where (company_id, id) = (${companyId}, ${started!.deliveryId})`
    await completeHeld(db, [record(started!, { next: 'delivered' })])
    expect(await statusOf(db, started!)).toEqual({ status: 'pending', attempts: 0, round: 2 })
  })
})

describe('a plan that is made while there are no deliveries', () => {
  it('reads no more than it needs when there are many', async () => {
    await fresh()
    await register(db, companyId)
    const session = connect(url, { max: 1 })
    onTestFinished(() => session.end())
    const handle = async (on: Db, enqueued: DeliveryRef[]) =>
      await completeHeld(
        on,
        (await startHeld(on, enqueued)).map((started) => record(started)),
      )
    await session`truncate deliveries, delivery_attempts, envelopes`
    await session`vacuum analyze deliveries`
    await handle(session, await enqueueDeliveries(session, [envelope(companyId, 'first')]))

    const many = Array.from({ length: 3_000 }, (_, n) => envelope(companyId, `many ${n}`))
    const enqueued = await enqueueDeliveries(session, many)
    await session.begin(async (tx) => {
      const before = await readsOf(tx, 'deliveries')
      await handle(tx, enqueued.slice(1_000, 1_020))
      const { scanned, fetched } = await readsOf(tx, 'deliveries')
      expect(scanned - before.scanned).toBe(0)
      expect(fetched - before.fetched).toBeLessThan(200)
    })
  })

  it('is claimed and recovered without reading those that are done', async () => {
    await fresh()
    const { id } = await register(db, companyId)
    const session = connect(url, { max: 1, pinPlans: true })
    onTestFinished(() => session.end())
    await session`truncate deliveries, delivery_attempts, envelopes`
    const many = Array.from({ length: 3_000 }, (_, n) => envelope(companyId, `many ${n}`))
    await enqueueDeliveries(session, many)
    await session`
      update deliveries set status = 'delivered', sent_at = now()
      where company_id = ${companyId}
        and id in (select id from deliveries where company_id = ${companyId} order by id limit 2500)
    `
    await session`vacuum analyze deliveries`
    const readRows = async (tx: Db): Promise<number> => {
      const [row] = await tx<[{ rows: number }]>`
        select sum(seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_xact_user_tables where relname ~ '^deliveries'
      `
      return row.rows
    }
    await session.begin(async (tx) => {
      const before = await readRows(tx)
      const { jobs } = await claimDeliveries(tx, claimRequest(20))
      expect(jobs.map(({ lane }) => lane)).toEqual(Array(20).fill(`${companyId}.${id}`))
      await recoverJobs(tx, [DELIVER], 10, DELIVERIES)
      expect((await readRows(tx)) - before).toBeLessThan(500)
    })
  })
})
