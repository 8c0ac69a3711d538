import { describe, expect, test } from 'vitest'
import { createTestKey } from '../../../test/api.ts'
import { startKeyedRoutes } from '../../../test/keyed-routes.ts'
import { expireTable } from '../../../test/lifetimes.ts'
import { writeUnmirrored } from '../../../test/run/mirrors.ts'
import { parseKey } from './idempotency.ts'

const { routes, db, stored, app, key, call } = await startKeyedRoutes()

describe('Idempotency-Key', () => {
  test('the same request gets the first answer again, and runs once', async () => {
    const first = await call('again')
    const second = await call('again')
    expect(routes.runs).toBe(1)
    expect(first.headers['idempotent-replayed']).toBeUndefined()
    expect([second.statusCode, second.body]).toEqual([first.statusCode, first.body])
    expect(second.headers).toMatchObject({ 'idempotent-replayed': 'true', 'x-ratelimit-limit': '100000' })
    expect(second.headers['content-type']).toBe(first.headers['content-type'])
  })

  test('bare and quoted are the same key', async () => {
    await call('quoted"')
    expect((await call('"quoted\\""')).headers['idempotent-replayed']).toBe('true')
  })

  test('50 equal requests at once run once; those that come meanwhile get 409', async () => {
    const gate = Promise.withResolvers<void>()
    routes.hold = gate.promise
    const replies = Array.from({ length: 50 }, () => call('parallel'))
    await expect.poll(() => routes.runs).toBe(1)
    const early = await Promise.race(replies)
    expect([early.statusCode, early.json().error.code]).toEqual([409, 'idempotency_key_in_use'])
    gate.resolve()
    const statuses = (await Promise.all(replies)).map(({ statusCode }) => statusCode)
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(1)
    expect(new Set(statuses)).toEqual(new Set([200, 409]))
    expect(routes.runs).toBe(1)
  })

  test('422 for another body or query under the same key', async () => {
    await call('reused')
    for (const other of [{ body: { a: 2 } }, { url: '/public/v1/work?x=1' }]) {
      const reply = await call('reused', other)
      expect([reply.statusCode, reply.json().error.code]).toEqual([422, 'idempotency_key_reused'])
    }
    expect(routes.runs).toBe(1)
  })

  test('a key is kept per API key, method and path', async () => {
    const sibling = await createTestKey(db, { companyId: key.companyId })
    await call('shared')
    expect((await call('shared', { headers: sibling.headers })).json()).toEqual({ run: 2 })
    expect((await call('shared', { url: '/public/v1/other' })).json()).toEqual({ run: 3 })
    const put = await app.inject({
      method: 'PUT',
      url: '/public/v1/work',
      headers: { ...key.headers, 'content-type': 'application/json', 'idempotency-key': 'shared' },
      payload: '{"a":1}',
    })
    expect(put.json()).toEqual({ run: 4 })
  })

  test('a refusal given after the work began is kept', async () => {
    const body = { kind: 'final' }
    const first = await call('final', { url: '/public/v1/refuse', body })
    const second = await call('final', { url: '/public/v1/refuse', body })
    expect([first.statusCode, second.statusCode, second.body]).toEqual([400, 400, first.body])
    expect(second.headers['idempotent-replayed']).toBe('true')
    expect(routes.runs).toBe(1)
  })

  test.each(['check', 'busy'])('a refusal before the work began is not kept: %s', async (kind) => {
    await call(`early-${kind}`, { url: '/public/v1/refuse', body: { kind } })
    const again = await call(`early-${kind}`, { url: '/public/v1/refuse', body: { kind } })
    expect(again.headers['idempotent-replayed']).toBeUndefined()
    expect(routes.runs).toBe(2)
    expect(await db`select from idempotency_keys where key = ${stored(`early-${kind}`)}`).toHaveLength(0)
  })

  test('a route that stores no answer for its key is refused: it would run twice', async () => {
    expect((await call('forgetful', { url: '/public/v1/forgetful' })).statusCode).toBe(500)
  })

  test('a key stays reserved while its work can commit, also after its caller got 503; then the first outcome', async () => {
    const gate = Promise.withResolvers<void>()
    routes.hold = gate.promise
    const first = await call('late', { url: '/public/v1/effect' })
    expect([first.statusCode, first.json().error.code]).toEqual([503, 'service_unavailable'])
    const meanwhile = await call('late', { url: '/public/v1/effect' })
    expect([meanwhile.statusCode, meanwhile.json().error.code]).toEqual([409, 'idempotency_key_in_use'])
    gate.resolve()
    const replay = () => call('late', { url: '/public/v1/effect' })
    await expect.poll(async () => (await replay()).statusCode).toBe(201)
    expect((await replay()).headers['idempotent-replayed']).toBe('true')
    expect(await db`select from effects where key = 'late'`).toHaveLength(1)
  })

  test('work that fails after its caller got 503 releases the key', async () => {
    const gate = Promise.withResolvers<void>()
    routes.hold = gate.promise
    expect((await call('fails-late', { url: '/public/v1/effect' })).statusCode).toBe(503)
    gate.reject(new Error('failed late'))
    routes.hold = undefined
    await expect.poll(async () => (await call('fails-late', { url: '/public/v1/effect' })).statusCode).toBe(201)
    expect(await db`select from effects where key = 'fails-late'`).toHaveLength(1)
  })

  test('the lease of a request that runs is renewed', async () => {
    const gate = Promise.withResolvers<void>()
    routes.hold = gate.promise
    const running = call('long')
    await expect.poll(() => routes.runs).toBe(1)
    await db`update idempotency_keys set lease_until = now() - interval '1 second' where company_id > 0 and key = ${stored('long')}`
    const isLeased = async () => {
      const [row] =
        await db`select lease_until > now() + interval '10 seconds' as is_leased from idempotency_keys where key = ${stored('long')}`
      return row?.isLeased
    }
    await expect.poll(isLeased).toBe(true)
    gate.resolve()
    await running
  })

  test.each([
    ['empty', ''],
    ['an empty string', '""'],
    ['too long', 'k'.repeat(256)],
    ['badly quoted', '"open'],
  ])('422 for a key that is %s', async (_what, header) => {
    const reply = await call(header)
    expect(reply.statusCode).toBe(422)
    expect(reply.json().error.details.fields[0].path).toBe('Idempotency-Key')
    expect(routes.runs).toBe(0)
  })

  test('255 characters are not too long', () => {
    expect(parseKey('k'.repeat(255))).toHaveLength(255)
    expect(parseKey(`"${'k'.repeat(255)}"`)).toHaveLength(255)
  })

  test('without the header, or on another surface, nothing is kept', async () => {
    const before = await db`select from idempotency_keys`
    await app.inject({ method: 'POST', url: '/public/v1/work', headers: key.headers })
    expect(await db`select from idempotency_keys`).toHaveLength(before.length)
  })

  test('a key of 48 hours ago is as good as none', async () => {
    await call('old')
    const age = (hours: number) => db`
      update idempotency_keys set created_at = now() - ${hours} * interval '1 hour'
      where company_id > 0 and key = ${stored('old')}
    `
    await age(47)
    expect((await call('old')).json()).toEqual({ run: 1 })
    await age(48)
    expect((await call('old', { body: { a: 2 } })).json()).toEqual({ run: 2 })
    expect((await call('old', { body: { a: 2 } })).headers['idempotent-replayed']).toBe('true')
  })
})

test('keys older than 48 hours are forgotten, a batch at a time', async () => {
  await call('gone-1')
  await call('gone-2')
  await writeUnmirrored(
    db,
    (tx) => tx`
      update idempotency_keys set created_at = now() - interval '49 hours'
      where company_id > 0 and key in (${stored('gone-1')}, ${stored('gone-2')})
    `,
  )
  expect(await expireTable(db, 'idempotency_keys', 1)).toBe(1)
  expect(await expireTable(db, 'idempotency_keys')).toBe(1)
  expect(await expireTable(db, 'idempotency_keys')).toBe(0)
})
