import { describe, expect, test } from 'vitest'
import { startKeyedRoutes } from '../../../test/keyed-routes.ts'
import { recordAnswer, reserveKey } from './idempotency-store.ts'

const { routes, seen, db, stored, key, call, dies } = await startKeyedRoutes()

describe('a process that died', () => {
  test('before its work began anything leaves the key to the next request', async () => {
    await call('died')
    await dies('died', null)
    expect((await call('died', { body: { a: 2 } })).json().error.code).toBe('idempotency_key_reused')
    const replies = await Promise.all(Array.from({ length: 10 }, () => call('died')))
    expect(routes.runs).toBe(2)
    expect(replies.filter(({ statusCode }) => statusCode === 200).length).toBeGreaterThanOrEqual(1)
  })

  test('after its send began is answered with the outcome of the first, and nothing is sent again', async () => {
    await call('lost', { url: '/public/v1/send' })
    await dies('lost', 77)
    routes.recovered = 0
    const first = await call('lost', { url: '/public/v1/send' })
    const second = await call('lost', { url: '/public/v1/send' })
    expect([first.statusCode, first.json().error.message]).toEqual([503, 'of 77'])
    expect([second.body, second.headers['idempotent-replayed']]).toEqual([first.body, 'true'])
    expect([routes.runs, routes.recovered]).toEqual([1, 1])
  })

  test('is still running while its lease lasts', async () => {
    await call('alive')
    await db`update idempotency_keys set answer_status = null, answer_body = null where company_id > 0 and key = ${stored('alive')}`
    expect((await call('alive')).statusCode).toBe(409)
  })

  test('leaves a key that is free after 15 seconds at most', async () => {
    await call('crashed')
    await db`update idempotency_keys set answer_status = null, answer_body = null where company_id > 0 and key = ${stored('crashed')}`
    const [row] =
      await db`select lease_until - now() <= interval '15 seconds' as is_short from idempotency_keys where key = ${stored('crashed')}`
    expect(row?.isShort).toBe(true)
  })

  test('commits nothing when it wakes after another took its key', async () => {
    const gate = Promise.withResolvers<void>()
    routes.hold = gate.promise
    const frozen = call('frozen', { url: '/public/v1/effect' })
    await expect.poll(() => routes.runs).toBe(1)
    await dies('frozen', null)
    routes.hold = undefined
    expect((await call('frozen', { url: '/public/v1/effect' })).json()).toEqual({ run: 2 })
    gate.resolve()
    expect((await frozen).json().error.code).toBe('idempotency_key_in_use')
    expect(await db`select from effects where key = 'frozen'`).toHaveLength(1)
    expect((await call('frozen', { url: '/public/v1/effect' })).json()).toEqual({ run: 2 })
  })

  test('leaves what it has done so far to the next request, which continues from there', async () => {
    const gate = Promise.withResolvers<void>()
    routes.hold = gate.promise
    seen.length = 0
    const dead = call('steps', { url: '/public/v1/steps' })
    await expect.poll(() => routes.runs).toBe(1)
    await dies('steps', null)
    routes.hold = undefined
    expect((await call('steps', { url: '/public/v1/steps' })).statusCode).toBe(200)
    expect(seen).toEqual([[], [0]])
    gate.resolve()
    expect((await dead).statusCode).toBe(409)
  })

  test('completes nothing when it wakes after another took its key', async () => {
    const request = {
      companyId: key.companyId,
      clientId: key.clientId,
      method: 'POST',
      path: '/x',
      key: 'zombie',
      digest: Buffer.alloc(32),
    }
    const zombie = await reserveKey(db, request)
    await dies('zombie', null)
    const successor = await reserveKey(db, request)
    expect([zombie.state, successor.state]).toEqual(['reserved', 'reserved'])
    if (zombie.state === 'reserved') await recordAnswer(db, key.companyId, zombie.id, 200, '"late"')
    expect(await reserveKey(db, request)).toEqual({ state: 'running' })
  })
})
