import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestApi } from '../../../../test/api.ts'
import { createTestDatabase } from '../../../../test/database.ts'
import { startReceiver } from '../../../../test/receiver.ts'
import { writeUnmirrored } from '../../../../test/run/mirrors.ts'
import {
  completeHeld,
  createCaller,
  createCompany,
  envelope,
  register,
  signatureOf,
  startHeld,
  statusOf,
  testCipher,
} from '../../../../test/webhook-fixture.ts'
import { renewAll } from '../../../../test/webhooks/renew-all.ts'
import type { Db } from '../../../db/connect.ts'
import { systemClock } from '../../../platform/clock.ts'
import { createReceiverClient } from '../../attempts/post.ts'
import { updateRegistrationRow } from '../../registrations/registration-store.ts'
import { type DeliveryRef, enqueueDeliveries } from '../delivery-store.ts'
import { deliveryLogRoutes } from './delivery-log-routes.ts'
import { listLogs } from './delivery-log-store.ts'

const { db } = await createTestDatabase({ mirrors: true })
const callAs = createCaller(db)
const PATH = '/public/v1/webhooks/registrations'
const receiver = createReceiverClient({ allowPrivate: true })
const missing = { status: 404, body: { message: 'Webhook registration not found' } }
/** Pending deliveries visible at each worker wake-up. */
let wakes: Promise<number>[] = []
let app: FastifyInstance
let companyId: number
let other: number

beforeAll(async () => {
  const onEnqueued = () => {
    const pending = db`select from deliveries where company_id = ${companyId} and status = 'pending'`
    wakes.push(pending.then(({ length }) => length))
  }
  const deps = { db, cipher: testCipher, clock: systemClock, receiver, serviceName: 'Service', onEnqueued }
  app = (await createTestApi({ db, routes: (on) => void on.register(deliveryLogRoutes(deps)) })).app
  companyId = await createCompany(db)
  other = await createCompany(db, 'Other')
})
afterAll(async () => {
  await app.close()
  await receiver.close()
})

const inject = (method: 'GET' | 'POST', path: string, body?: object, company = companyId) => {
  wakes = []
  return callAs(app, company, method, `${PATH}/${path}`, body)
}
const call = async (...request: Parameters<typeof inject>) => {
  const answer = await inject(...request)
  return { status: answer.statusCode, body: answer.json() }
}

/** Creates a delivery whose attempts have the given outcomes. */
async function deliver(wamid: string, ends: ('failed' | 'delivered' | 'dead')[], body?: string): Promise<DeliveryRef> {
  const [enqueued] = await enqueueDeliveries(db, [envelope(companyId, wamid, body)])
  for (const end of ends) {
    const [started] = await startHeld(db, [enqueued!])
    const isDone = end === 'delivered'
    await completeHeld(db, [
      {
        ...started!,
        statusCode: isDone ? 200 : 500,
        response: isDone ? 'ok' : 'sorry',
        errorMessage: isDone ? null : 'the receiver answered 500',
        durationMs: 3,
        sentAt: new Date('2026-01-01T00:00:00Z'),
        next: end === 'failed' ? new Date() : end,
      },
    ])
  }
  const { deliveryId, registrationId } = enqueued!
  return { companyId, deliveryId, registrationId }
}

describe('the logs', () => {
  it('are a bare array, newest first, one row per attempt, with the delivered body as an object', async () => {
    companyId = await createCompany(db)
    const { id } = await register(db, companyId)
    expect(await call('GET', `${id}/logs`)).toEqual({ status: 200, body: [] })
    const first = await deliver('w1', ['failed', 'dead'], '{"n":1,"message":{"wamid":"w1"}}')
    const second = await deliver('w2', ['delivered'])
    const { status, body } = await call('GET', `${id}/logs`)
    expect(status).toBe(200)
    const dates = { sentAt: '2026-01-01T00:00:00.000Z', createdAt: expect.stringMatching(/Z$/), id: expect.any(Number) }
    const failed = { statusCode: 500, response: 'sorry', errorMessage: 'the receiver answered 500' }
    const payload = { n: 1, message: { wamid: 'w1' } }
    expect(body).toEqual([
      {
        ...dates,
        deliveryId: second.deliveryId,
        attempt: 1,
        statusCode: 200,
        response: 'ok',
        errorMessage: null,
        deadLettered: false,
        payload: { wamid: 'w2' },
      },
      { ...dates, ...failed, deliveryId: first.deliveryId, attempt: 2, deadLettered: true, payload },
      { ...dates, ...failed, deliveryId: first.deliveryId, attempt: 1, deadLettered: false, payload },
    ])
  })

  it('walk back with before and limit through all attempts, and filter by status', async () => {
    companyId = await createCompany(db)
    const { id } = await register(db, companyId)
    for (const n of [1, 2, 3]) await deliver(`walk${n}`, ['failed', 'delivered'])
    await deliver('walk4', ['failed', 'dead'])
    const walk = async (query: string) => {
      const seen: { id: number; attempt: number; deadLettered: boolean; statusCode: number }[] = []
      for (;;) {
        const before = seen.length === 0 ? '' : `&before=${seen.at(-1)?.id}`
        const { status, body } = await call('GET', `${id}/logs?limit=3${query}${before}`)
        expect(status).toBe(200)
        expect(body.length).toBeLessThanOrEqual(3)
        if (body.length === 0) return seen
        seen.push(...body)
      }
    }
    const all = await walk('')
    expect(all.map((row) => row.id)).toEqual(
      (await call('GET', `${id}/logs`)).body.map((row: { id: number }) => row.id),
    )
    expect(all).toHaveLength(8)
    expect((await walk('&status=delivered')).map((row) => row.statusCode)).toEqual([200, 200, 200])
    expect(await walk('&status=failed')).toHaveLength(5)
    expect((await walk('&status=dead')).map((row) => [row.attempt, row.deadLettered])).toEqual([[2, true]])
    expect((await call('GET', `${id}/logs?status=other`)).status).toBe(422)
    expect((await call('GET', `${id}/logs?limit=0`)).body).toHaveLength(8)
    const malformed = await call('GET', `${id}/logs?before=x`)
    expect([malformed.status, malformed.body.error.details.fields[0].path]).toEqual([422, 'before'])
  })

  it('are newest first by the time of the attempt: one that waited long stands before those made before it', async () => {
    companyId = await createCompany(db)
    const { id } = await register(db, companyId)
    const wamids = ['late', 'early', 'same']
    const enqueued = await enqueueDeliveries(
      db,
      wamids.map((wamid) => envelope(companyId, wamid)),
    )
    const attempt = async (place: number, sentAt: string, next: Date | 'delivered') => {
      const [started] = await startHeld(db, [enqueued[place]!])
      const isDone = next === 'delivered'
      const answer = { statusCode: isDone ? 200 : 500, response: '', errorMessage: isDone ? null : 'no', durationMs: 1 }
      await completeHeld(db, [{ ...started!, ...answer, sentAt: new Date(sentAt), next }])
    }
    await attempt(1, '2026-01-01T00:00:01Z', new Date())
    await attempt(2, '2026-01-01T00:00:01Z', 'delivered')
    await attempt(1, '2026-01-01T00:00:02Z', 'delivered')
    await attempt(0, '2026-01-01T00:00:03Z', 'delivered')
    const rows = async (query: string) => {
      const { body } = await call('GET', `${id}/logs?${query}`)
      return body.map((row: { id: number; payload: { wamid: string } }) => ({ id: row.id, wamid: row.payload.wamid }))
    }
    const all = await rows('')
    expect(all.map(({ wamid }: { wamid: string }) => wamid)).toEqual(['late', 'early', 'early', 'same'])
    for (const [place, { id: before }] of all.entries())
      expect(await rows(`before=${before}`)).toEqual(all.slice(place + 1))
    expect(await rows('before=99999999999999')).toEqual(all)
    expect(await rows('before=1')).toEqual([])
  })

  it('find failures by an index of their own among any number of successes', async () => {
    const { rows } = await db.begin(async (tx) => {
      await tx`set local enable_seqscan = off`
      const plan = await tx`
        explain select * from delivery_attempts
        where company_id = 1 and registration_id = 1 and error_message is not null
        order by sent_at desc, id desc limit 100`
      return { rows: plan.map((row) => Object.values(row)[0]).join('\n') }
    })
    // The error condition must be the predicate of the partition's failure index, not a filter.
    expect(rows).toMatch(/using delivery_attempts_\d+_company_id_registration_id_sent_/)
    expect(rows).not.toContain('error_message')
  })

  it('hold the body to the letter, long numbers included', async () => {
    companyId = await createCompany(db)
    const { id } = await register(db, companyId)
    const text = '{"raw":{"id":12345678901234567890,"x":1.10,"y":"\\u0000"}}'
    await deliver('w1', ['delivered'], text)
    const answer = await inject('GET', `${id}/logs`)
    expect(answer.headers['content-type']).toMatch(/^application\/json/)
    expect(answer.body).toContain(`"payload":${text}`)
  })

  it('are 100 at most, and of the company alone', async () => {
    companyId = await createCompany(db)
    const { id } = await register(db, companyId)
    for (let count = 0; count < 102; count += 1) await deliver(`w${count}`, ['delivered'])
    const { body } = await call('GET', `${id}/logs`)
    expect(body).toHaveLength(100)
    expect([body[0].payload.wamid, body[99].payload.wamid]).toEqual(['w101', 'w2'])
    expect(await call('GET', `${id}/logs`, undefined, other)).toEqual(missing)
    expect(await call('GET', 'x/logs')).toEqual(missing)
  })

  it('are read by one index, whatever their number', async () => {
    companyId = await createCompany(db)
    const quiet = await register(db, companyId)
    await deliver('w0', ['delivered'])
    const busy = await register(db, companyId)
    await writeUnmirrored(db, async (tx) => {
      await tx`
        insert into envelopes (company_id, event_id, event, body)
        select ${companyId}, 'e' || n, 'e', '{}' from generate_series(1, 10000) n
      `
      await tx`
        insert into deliveries (company_id, registration_id, event, event_id)
        select ${companyId}, ${busy.id}, 'e', 'e' || n from generate_series(1, 10000) n
      `
      await tx`
        insert into delivery_attempts (company_id, registration_id, delivery_id, round, attempt, duration_ms, sent_at)
        select company_id, registration_id, id, 1, attempt, 1, now()
        from deliveries cross join generate_series(1, 2) attempt
        where company_id = ${companyId} and registration_id = ${busy.id}
      `
      await tx`
        update deliveries set status = 'delivered', sent_at = now(), logged_at = now(), duration_ms = 1
        where company_id = ${companyId} and registration_id = ${busy.id} and id % 2 = 0
      `
    })
    await db`analyze`
    expect((await call('GET', `${busy.id}/logs`)).body).toHaveLength(100)
    for (const [id, mode] of [busy.id, quiet.id].flatMap((one) => [
      [one, 'force_custom_plan'] as const,
      [one, 'force_generic_plan'] as const,
    ])) {
      const { scanned, fetched } = await readsOfLogs(id, mode)
      expect(scanned).toBe(0)
      // 101 rows at most of three tables, and the log of two of them; the view counts some for the index and the table.
      expect(fetched).toBeLessThanOrEqual(808)
    }
  })
})

/** The rows that the store's statement reads by scanning tables, and by indexes. */
const readsOfLogs = (id: number, mode: 'force_custom_plan' | 'force_generic_plan') =>
  db.begin(async (tx) => {
    await tx`select set_config('plan_cache_mode', ${mode}, true)`
    // The counters also hold what the session read in the last second.
    const before = await countReads(tx)
    await listLogs(tx, companyId, id)
    const after = await countReads(tx)
    return { scanned: after.scanned - before.scanned, fetched: after.fetched - before.fetched }
  })

async function countReads(tx: Db): Promise<{ scanned: number; fetched: number }> {
  const [row] = await tx<[{ scanned: number; fetched: number }]>`
    select coalesce(sum(seq_tup_read), 0)::int as scanned, coalesce(sum(idx_tup_fetch), 0)::int as fetched
    from pg_stat_xact_user_tables
    where relname ~ '^(delivery_attempts|deliveries|envelopes)_'
  `
  return row
}

describe('redelivering one log', () => {
  it('enqueues its delivery again with five new attempts, the same body and id', async () => {
    companyId = await createCompany(db)
    const { id } = await register(db, companyId)
    const delivery = await deliver('w1', ['failed', 'dead'])
    const { body: logs } = await call('GET', `${id}/logs`)
    expect(await call('POST', `${id}/logs/${logs[0].id}/redeliver`)).toEqual({ status: 200, body: { success: true } })
    expect(await Promise.all(wakes)).toEqual([1])
    expect(await statusOf(db, delivery)).toMatchObject({ status: 'pending', attempts: 0, round: 2 })
    expect(await startHeld(db, [delivery])).toMatchObject([
      { attempt: 1, round: 2, eventId: 'w1', body: '{"wamid":"w1"}' },
    ])
    // The second request finds a pending delivery.
    expect((await call('POST', `${id}/logs/${logs[1].id}/redeliver`)).status).toBe(200)
    expect(await statusOf(db, delivery)).toMatchObject({ status: 'pending', round: 2 })
  })

  it('answers 404 for logs that are missing or of another registration or company', async () => {
    companyId = await createCompany(db)
    const { id } = await register(db, companyId)
    const delivery = await deliver('w1', ['delivered'])
    const { id: second } = await register(db, companyId)
    const logId = (await call('GET', `${id}/logs`)).body[0].id
    const noLog = { status: 404, body: { message: 'Delivery log not found' } }
    expect(await call('POST', `${id}/logs/999999999/redeliver`)).toEqual(noLog)
    expect(await call('POST', `${id}/logs/x/redeliver`)).toEqual(noLog)
    expect(await call('POST', `${second}/logs/${logId}/redeliver`)).toEqual(noLog)
    expect(await call('POST', `${id}/logs/${logId}/redeliver`, undefined, other)).toEqual(missing)
    await updateRegistrationRow(db, companyId, id, { status: 'inactive' })
    expect(await call('POST', `${id}/logs/${logId}/redeliver`)).toMatchObject({
      status: 400,
      body: { error: { code: 'bad_request' } },
    })
    expect(await statusOf(db, delivery)).toMatchObject({ status: 'delivered', round: 1 })
  })
})

describe('redelivering a range', () => {
  const since = '2020-01-01T00:00:00Z'

  it('enqueues what is finished, or only dead letters, and counts', async () => {
    companyId = await createCompany(db)
    const { id } = await register(db, companyId)
    const [dead, done] = [await deliver('w1', ['dead']), await deliver('w2', ['delivered'])]
    await deliver('w3', ['failed'])
    const dry = { status: 200, body: { success: true, count: 1 } }
    expect(await call('POST', `${id}/redeliver`, { since, onlyDeadLettered: true, dryRun: true })).toEqual(dry)
    expect((await call('POST', `${id}/redeliver`, { since, dryRun: true })).body.count).toBe(2)
    expect(wakes).toEqual([])
    expect(await call('POST', `${id}/redeliver`, { since, onlyDeadLettered: true })).toEqual({
      status: 200,
      body: { success: true, count: 1 },
    })
    await renewAll(db, companyId)
    expect([(await statusOf(db, dead))?.round, (await statusOf(db, done))?.round]).toEqual([2, 1])
    expect(await call('POST', `${id}/redeliver`, { since })).toEqual({ status: 200, body: { success: true, count: 1 } })
    await renewAll(db, companyId)
    expect([(await statusOf(db, dead))?.round, (await statusOf(db, done))?.round]).toEqual([2, 2])
    expect((await call('POST', `${id}/redeliver`, { since })).body.count).toBe(0)
  })

  it('keeps to the range and the registration', async () => {
    companyId = await createCompany(db)
    const { id } = await register(db, companyId)
    const enqueued = [await deliver('w1', ['dead']), await deliver('w2', ['dead']), await deliver('w3', ['dead'])]
    const [today] = await db<[{ noon: Date }]>`select date_trunc('day', now(), 'UTC') + interval '12 h' as noon`
    const noonPlus = (minutes: number) => new Date(today.noon.getTime() + minutes * 60_000).toISOString()
    for (const [minute, delivery] of enqueued.entries())
      await db`
        update deliveries set created_at = ${noonPlus(minute)}
        where company_id = ${companyId} and id = ${delivery.deliveryId}
      `
    const range = { since: noonPlus(1), until: noonPlus(2) }
    expect((await call('POST', `${(await register(db, companyId)).id}/redeliver`, range)).body.count).toBe(0)
    expect((await call('POST', `${id}/redeliver`, range)).body.count).toBe(1)
    await renewAll(db, companyId)
    expect(await Promise.all(enqueued.map(async (one) => (await statusOf(db, one))?.round))).toEqual([1, 2, 1])
  })

  it('answers 400 without since and 422 to what is no time or ends before it begins', async () => {
    const { id } = await register(db, companyId)
    expect((await call('POST', `${id}/redeliver`, {})).status).toBe(400)
    for (const body of [
      { since: 'yesterday' },
      { since: 7 },
      { since, until: 'x' },
      { since: '0000-01-01T00:00:00Z' },
      { since, until: '9999-12-31T23:59:59-01:00' },
      { since, until: '2019-01-01T00:00:00Z' },
      { since, onlyDeadLettered: 'yes' },
    ])
      expect(await call('POST', `${id}/redeliver`, body)).toMatchObject({
        status: 422,
        body: { error: { code: 'validation_error' } },
      })
    expect(await call('POST', `${id}/redeliver`, { since }, other)).toEqual(missing)
  })
})

describe('a test delivery', () => {
  it('sends one signed sample now and answers what came back', async () => {
    const peer = await startReceiver((_, response) => response.writeHead(418).end('teapot'))
    const secret = testCipher.encrypt('sixteen letters!')
    const staticHeaders = testCipher.encrypt(JSON.stringify([{ key: 'X-Mine', value: 'yes' }]))
    const { id } = await register(db, companyId, { url: `${peer.url}in`, secret, staticHeaders })
    expect(await call('POST', `${id}/test`)).toEqual({
      status: 200,
      body: {
        data: {
          statusCode: 418,
          response: 'teapot',
          errorMessage: 'the receiver answered 418',
          durationMs: expect.any(Number),
        },
      },
    })
    expect(peer.received).toHaveLength(1)
    const [got] = peer.received
    const body = got!.body.toString()
    const sent = JSON.parse(body)
    expect(sent).toMatchObject({
      version: '1',
      event: 'whatsapp.message.received',
      companyId,
      message: { type: 'text' },
    })
    expect(got!.headers).toMatchObject({
      'content-type': 'application/json',
      'x-mine': 'yes',
      'x-service-delivery': sent.message.wamid,
      'x-service-webhook-id': String(id),
      'x-service-signature': signatureOf('sixteen letters!', body),
    })
    expect((await call('GET', `${id}/logs`)).body).toEqual([])
  })

  it('answers also when no receiver listens, and 404 to another company', async () => {
    const peer = await startReceiver()
    await peer.close()
    const { id } = await register(db, companyId, { url: peer.url })
    expect((await call('POST', `${id}/test`)).body.data).toMatchObject({
      statusCode: null,
      response: null,
      errorMessage: 'the receiver refused the connection (ECONNREFUSED)',
    })
    expect(await call('POST', `${id}/test`, undefined, other)).toEqual(missing)
  })
})
