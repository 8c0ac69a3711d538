import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTestApi } from '../../../test/api.ts'
import { createTestDatabase } from '../../../test/database.ts'
import { plansOf } from '../../../test/query-plans.ts'
import { writeUnmirrored } from '../../../test/run/mirrors.ts'
import {
  completeHeld,
  createCaller,
  createCompany,
  EVENT,
  envelope,
  register,
  signatureOf,
  startHeld,
  testCipher,
} from '../../../test/webhook-fixture.ts'
import { systemClock } from '../../platform/clock.ts'
import { deliveryRoutes } from './delivery-routes.ts'
import { type DeliveryRef, enqueueDeliveries } from './delivery-store.ts'
import { DELIVERY_STATUSES, findDelivery, listDeliveries, readDeliveredMessages } from './list/delivery-list-store.ts'
import { findDeliveryIds } from './list/delivery-search-store.ts'
import { renewDelivery } from './redelivery/redelivery-store.ts'

const { db, url } = await createTestDatabase({ mirrors: true })
const callAs = createCaller(db)
const SECRET = 'whsec_of_the_test_receiver'
const NOT_FOUND = { status: 404, body: { message: 'Delivery not found' } }
let app: FastifyInstance
let companyId: number
let id: number

beforeAll(async () => {
  const deps = { db, cipher: testCipher, clock: systemClock, serviceName: 'Service' }
  app = (await createTestApi({ db, routes: (on) => void on.register(deliveryRoutes(deps)) })).app
})
afterAll(() => app.close())
beforeEach(async () => {
  companyId = await createCompany(db)
  id = (await register(db, companyId, { secret: testCipher.encrypt(SECRET) })).id
})

const call = async (path: string, company = companyId) => {
  const answer = await callAs(app, company, 'GET', `/public/v1/webhooks/registrations/${path}`)
  return { status: answer.statusCode, body: answer.json() }
}

const enqueue = async (wamid: string, body?: string): Promise<DeliveryRef> =>
  (await enqueueDeliveries(db, [envelope(companyId, wamid, body)]))[0]!

async function attempt(delivery: DeliveryRef, statusCode: number | null, next: Date | 'delivered' | 'dead') {
  const [started] = await startHeld(db, [delivery])
  const isDone = next === 'delivered'
  const answer = { statusCode, response: isDone ? 'ok' : 'sorry', errorMessage: isDone ? null : 'no', durationMs: 3 }
  await completeHeld(db, [{ ...started!, ...answer, sentAt: new Date('2026-01-01T00:00:00Z'), next }])
}

describe('GET …/registrations/{id}/deliveries', () => {
  it('lists one row per delivery, newest first, with the status of its latest attempt', async () => {
    const [delivered, dead, waiting] = [await enqueue('w1'), await enqueue('w2'), await enqueue('w3')]
    await attempt(delivered, 201, 'delivered')
    await attempt(dead, 500, new Date())
    await attempt(dead, null, 'dead')
    const { status, body } = await call(`${id}/deliveries`)
    const common = {
      registrationId: id,
      event: EVENT,
      createdAt: expect.stringMatching(/Z$/),
      nextAttemptAt: null,
      message: null,
    }
    const named = (wamid: string) => ({ ...common, eventId: wamid, wamid })
    expect([status, body]).toEqual([
      200,
      {
        data: [
          {
            ...named('w3'),
            id: waiting.deliveryId,
            status: 'pending',
            attempts: 0,
            lastStatusCode: null,
            nextAttemptAt: expect.stringMatching(/Z$/),
          },
          { ...named('w2'), id: dead.deliveryId, status: 'dead', attempts: 2, lastStatusCode: null },
          { ...named('w1'), id: delivered.deliveryId, status: 'delivered', attempts: 1, lastStatusCode: 201 },
        ],
        nextBefore: null,
      },
    ])
  })

  it('pages by before and filters by status and time', async () => {
    const enqueued = []
    for (const wamid of ['a', 'b', 'c', 'd', 'e']) {
      enqueued.push(await enqueue(wamid))
      // Times in queries have milliseconds.
      await sleep(2)
    }
    for (const delivery of enqueued.slice(0, 3)) await attempt(delivery, 500, 'dead')
    const wamids = async (query: string) => {
      const { body } = await call(`${id}/deliveries?${query}`)
      return [body.data.map(({ wamid }: { wamid: string }) => wamid).join(''), body.nextBefore]
    }
    expect(await wamids('limit=2')).toEqual(['ed', enqueued[3]!.deliveryId])
    expect(await wamids(`limit=3&before=${enqueued[3]!.deliveryId}`)).toEqual(['cba', null])
    expect(await wamids('status=dead&limit=2')).toEqual(['cb', enqueued[1]!.deliveryId])
    expect(await wamids('status=pending')).toEqual(['ed', null])
    expect(await wamids('status=skipped')).toEqual(['', null])
    const [{ at }] = await db<[{ at: Date }]>`
      select created_at as at from deliveries where company_id = ${companyId} and id = ${enqueued[2]!.deliveryId}
    `
    expect(await wamids(`since=${at.toISOString()}`)).toEqual(['edc', null])
    const [earlier, later] = [new Date(at.getTime() - 86_400_000), new Date(at.getTime() + 86_400_000)]
    expect(await wamids(`since=${earlier.toISOString()}&until=${later.toISOString()}`)).toEqual(['edcba', null])
    expect(await wamids(`since=${later.toISOString()}`)).toEqual(['', null])
    expect(await wamids(`until=${earlier.toISOString()}`)).toEqual(['', null])
  })

  it('lists what a search finds', async () => {
    const [, second] = [await enqueue('wamid.First'), await enqueue('wamid.Second')]
    const found = async (search: string) =>
      (await call(`${id}/deliveries?search=${encodeURIComponent(search)}`)).body.data.map(
        (row: { wamid: string }) => row.wamid,
      )
    expect(await found(' wamid.Second ')).toEqual(['wamid.Second'])
    expect(await found(`${second.deliveryId}`)).toEqual(['wamid.Second'])
    expect(await found('.Fir')).toEqual(['wamid.First'])
    expect(await found('Third')).toEqual([])
    expect(await found('')).toEqual(['wamid.Second', 'wamid.First'])
  })

  it.each(['status=lost', 'before=x', 'since=yesterday', 'until=0001-01-01T00:00:00Z'])('refuses %s', async (query) => {
    expect((await call(`${id}/deliveries?${query}`)).status).toBe(422)
  })

  it('answers 404 for a registration of another company as for a missing one', async () => {
    const other = await createCompany(db, 'Other')
    const missing = { status: 404, body: { message: 'Webhook registration not found' } }
    for (const one of [id, 987654321]) expect(await call(`${one}/deliveries`, other)).toEqual(missing)
  })
})

describe('GET …/registrations/{id}/deliveries/{deliveryId}', () => {
  it('returns the very text that was sent, the headers, and all attempts of all rounds, newest first', async () => {
    const text = '{"n": 1.50, "message": {"wamid":"w1"}}'
    const delivery = await enqueue('w1', text)
    await attempt(delivery, 500, 'dead')
    await renewDelivery(db, companyId, delivery.deliveryId)
    await attempt(delivery, 200, 'delivered')
    const { status, body } = await call(`${id}/deliveries/${delivery.deliveryId}`)
    expect(status).toBe(200)
    expect(body.data.delivery).toMatchObject({ id: delivery.deliveryId, status: 'delivered', attempts: 1 })
    expect(body.data.payload).toBe(text)
    expect(body.data.requestHeaders).toMatchObject({
      'X-Service-Signature': signatureOf(SECRET, text),
      'X-Service-Delivery': 'w1',
    })
    const sent = { id: expect.any(Number), attempt: 1, durationMs: 3, sentAt: '2026-01-01T00:00:00.000Z' }
    expect(body.data.attempts).toEqual([
      { ...sent, round: 2, statusCode: 200, response: 'ok', errorMessage: null },
      { ...sent, round: 1, statusCode: 500, response: 'sorry', errorMessage: 'no' },
    ])
  })

  it('shows the headers of the attempt that is named, or those of an attempt now', async () => {
    await db`update registrations set secret = ${testCipher.encrypt(SECRET)} where company_id = ${companyId}`
    const delivery = await enqueue('w1')
    await attempt(delivery, 500, new Date())
    await attempt(delivery, 500, 'dead')
    await db`update delivery_attempts set sent_at = '2026-01-02T00:00:00Z' where company_id = ${companyId} and attempt = 2`
    const path = `${id}/deliveries/${delivery.deliveryId}`
    const [second, first] = (await call(path)).body.data.attempts
    const timestampOf = async (headersOf: string | number) =>
      Number((await call(`${path}?headersOf=${headersOf}`)).body.data.requestHeaders['webhook-timestamp'])
    expect(await timestampOf(first.id)).toBe(Date.parse('2026-01-01T00:00:00Z') / 1000)
    expect(await timestampOf(second.id)).toBe(Date.parse('2026-01-02T00:00:00Z') / 1000)
    expect(await timestampOf('now')).toBeGreaterThan(Date.parse('2026-01-02T00:00:00Z') / 1000)
    for (const one of ['last', '987654321']) expect((await call(`${path}?headersOf=${one}`)).status).toBe(422)
  })

  it('shows the names of static headers, without their values', async () => {
    const headers = [{ key: 'Authorization', value: 'Bearer of-the-receiver' }]
    const staticHeaders = testCipher.encrypt(JSON.stringify(headers))
    await db`update registrations set static_headers = ${staticHeaders} where company_id = ${companyId} and id = ${id}`
    const { deliveryId } = await enqueue('w1')
    const { body } = await call(`${id}/deliveries/${deliveryId}`)
    expect(body.data.requestHeaders.Authorization).toBe('…')
    expect(JSON.stringify(body)).not.toContain('of-the-receiver')
  })

  it('returns the attempt of a delivery that arrived at once', async () => {
    const delivery = await enqueue('w1')
    await attempt(delivery, 204, 'delivered')
    const { body } = await call(`${id}/deliveries/${delivery.deliveryId}`)
    expect(body.data.attempts).toMatchObject([{ attempt: 1, round: 1, statusCode: 204, response: 'ok' }])
  })

  it('answers 404 for a delivery of another registration or company as for a missing one', async () => {
    const { deliveryId } = await enqueue('w1')
    const second = await register(db, companyId)
    const other = await createCompany(db, 'Other')
    const theirs = await register(db, other)
    expect(await call(`${second.id}/deliveries/${deliveryId}`)).toEqual(NOT_FOUND)
    expect(await call(`${theirs.id}/deliveries/${deliveryId}`, other)).toEqual(NOT_FOUND)
    for (const one of ['x', '0', '900000000000001', '9007199254740991']) {
      expect(await call(`${id}/deliveries/${one}`)).toEqual(NOT_FOUND)
    }
  })
})

it('no statement of the deliveries scans or sorts a table, at fifty thousand deliveries', async () => {
  await writeUnmirrored(
    db,
    (tx) => tx`
      insert into deliveries (company_id, registration_id, event, event_id, status, sent_at)
      select ${companyId}, ${id}, 'e', 'w' || n, (${DELIVERY_STATUSES as unknown as string[]}::text[])[1 + n % 4], now()
      from generate_series(1, 50000) as n
    `,
  )
  await db`analyze deliveries, delivery_attempts, envelopes`
  const plans = await plansOf(url, async (watched) => {
    const since = new Date(Date.now() - 3_600_000)
    for (let time = 0; time < 6; time += 1) {
      for (const status of [undefined, ...DELIVERY_STATUSES]) {
        const rows = await listDeliveries(watched, companyId, id, { status, limit: 26 })
        expect(rows).toHaveLength(26)
        const before = rows.at(-1)!.id
        expect(await listDeliveries(watched, companyId, id, { status, since, before, limit: 26 })).toHaveLength(26)
        await findDelivery(watched, companyId, id, before, 100)
        await readDeliveredMessages(watched, companyId, rows)
        for (const search of ['wamid.HBgM', '393331234567', String(before)]) {
          const filter = { status, since, limit: 26 }
          const ids = await findDeliveryIds(watched, companyId, id, search, filter)
          await listDeliveries(watched, companyId, id, { ...filter, ids })
        }
      }
    }
  })
  expect(plans.length).toBeGreaterThan(90)
  for (const plan of plans) expect(plan).not.toMatch(/Seq Scan on (deliveries|delivery_attempts|envelopes)/)
  // Must sort only the page: at most 26 rows per status.
  const lists = plans.filter((plan) => /deliveries_\d+_company_id_registration_id_status/.test(plan))
  expect(lists.length).toBeGreaterThan(50)
}, 300_000)
