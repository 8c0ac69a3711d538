import { describe, expect, it } from 'vitest'
import { writeUnmirrored } from '../../../../test/run/mirrors.ts'
import { completeHeld, createCompany, envelope, register, startHeld } from '../../../../test/webhook-fixture.ts'
import { missing, startDeliveryLogs } from '../../../../test/webhooks/delivery-log-world.ts'
import type { Db } from '../../../db/connect.ts'
import { enqueueDeliveries } from '../delivery-store.ts'
import { listLogs } from './delivery-log-store.ts'

const { db, own, other, inject, call, deliver } = await startDeliveryLogs()

describe('the logs', () => {
  it('are a bare array, newest first, one row per attempt, with the delivered body as an object', async () => {
    own.id = await createCompany(db)
    const { id } = await register(db, own.id)
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
    own.id = await createCompany(db)
    const { id } = await register(db, own.id)
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
    own.id = await createCompany(db)
    const { id } = await register(db, own.id)
    const wamids = ['late', 'early', 'same']
    const enqueued = await enqueueDeliveries(
      db,
      wamids.map((wamid) => envelope(own.id, wamid)),
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
    own.id = await createCompany(db)
    const { id } = await register(db, own.id)
    const text = '{"raw":{"id":12345678901234567890,"x":1.10,"y":"\\u0000"}}'
    await deliver('w1', ['delivered'], text)
    const answer = await inject('GET', `${id}/logs`)
    expect(answer.headers['content-type']).toMatch(/^application\/json/)
    expect(answer.body).toContain(`"payload":${text}`)
  })

  it('are 100 at most, and of the company alone', async () => {
    own.id = await createCompany(db)
    const { id } = await register(db, own.id)
    for (let count = 0; count < 102; count += 1) await deliver(`w${count}`, ['delivered'])
    const { body } = await call('GET', `${id}/logs`)
    expect(body).toHaveLength(100)
    expect([body[0].payload.wamid, body[99].payload.wamid]).toEqual(['w101', 'w2'])
    expect(await call('GET', `${id}/logs`, undefined, other)).toEqual(missing)
    expect(await call('GET', 'x/logs')).toEqual(missing)
  })

  it('are read by one index, whatever their number', async () => {
    own.id = await createCompany(db)
    const quiet = await register(db, own.id)
    await deliver('w0', ['delivered'])
    const busy = await register(db, own.id)
    await writeUnmirrored(db, async (tx) => {
      await tx`
        insert into envelopes (company_id, event_id, event, body)
        select ${own.id}, 'e' || n, 'e', '{}' from generate_series(1, 10000) n
      `
      await tx`
        insert into deliveries (company_id, registration_id, event, event_id)
        select ${own.id}, ${busy.id}, 'e', 'e' || n from generate_series(1, 10000) n
      `
      await tx`
        insert into delivery_attempts (company_id, registration_id, delivery_id, round, attempt, duration_ms, sent_at)
        select company_id, registration_id, id, 1, attempt, 1, now()
        from deliveries cross join generate_series(1, 2) attempt
        where company_id = ${own.id} and registration_id = ${busy.id}
      `
      await tx`
        update deliveries set status = 'delivered', sent_at = now(), logged_at = now(), duration_ms = 1
        where company_id = ${own.id} and registration_id = ${busy.id} and id % 2 = 0
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
    await listLogs(tx, own.id, id)
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
