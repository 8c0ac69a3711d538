import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestApi, createTestKey } from '../../../test/api.ts'
import { createTestDatabase } from '../../../test/database.ts'
import { sql } from '../../db/connect.ts'
import { idempotencyKeyInUse, validationError } from '../../platform/errors.ts'
import { answerOnce } from './idempotency.ts'
import { recordAnswer, reserveNewKeys } from './idempotency-store.ts'

const { db } = await createTestDatabase({ mirrors: true })
/** A key as its row holds it. */
const stored = (text: string) => createHash('sha256').update(text).digest('base64url')
let runs = 0
let refuses = false
let hold: Promise<void> | undefined

const { app } = await createTestApi({
  db,
  routes: (app) => {
    app.post(
      '/public/v1/reserve',
      { config: { reservesKey: ({ url }) => !url.endsWith('?later') } },
      async (request, reply) => {
        const { keyToReserve: key } = request
        if (key === undefined) return answerOnce(db, request, reply, 200, async () => ({ isReserved: true }))
        if (refuses) throw validationError([{ path: 'kind', message: 'is bad' }])
        const [id] = await reserveNewKeys(db, [key.request])
        if (id === undefined) throw idempotencyKeyInUse()
        key.id = id
        runs += 1
        await hold
        const body = { run: runs }
        await recordAnswer(db, key.companyId, id, 200, JSON.stringify(body))
        return body
      },
    )
  },
})
afterAll(() => app.close())

let headers: Record<string, string>
beforeAll(async () => {
  ;({ headers } = await createTestKey(db))
})
beforeEach(() => {
  runs = 0
  refuses = false
  hold = undefined
})

const call = (idempotencyKey: string, { url = '/public/v1/reserve', body = { a: 1 } as unknown } = {}) =>
  app.inject({
    method: 'POST',
    url,
    headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
    payload: JSON.stringify(body),
  })

describe('a handler that reserves the Idempotency-Key', () => {
  test('runs once, and the first answer is sent again, whatever it would answer now', async () => {
    const first = await call('own')
    const second = await call('own')
    refuses = true
    const third = await call('own')
    for (const { statusCode, body, headers } of [second, third])
      expect([statusCode, body, headers['idempotent-replayed']]).toEqual([200, first.body, 'true'])
    expect(runs).toBe(1)
  })

  test('runs once for 50 equal requests at once; those that come meanwhile get 409', async () => {
    const gate = Promise.withResolvers<void>()
    hold = gate.promise
    const replies = Array.from({ length: 50 }, () => call('parallel'))
    const early = await Promise.race(replies)
    expect([early.statusCode, early.json().error.code]).toEqual([409, 'idempotency_key_in_use'])
    gate.resolve()
    const statuses = (await Promise.all(replies)).map(({ statusCode }) => statusCode)
    expect(new Set(statuses)).toEqual(new Set([200, 409]))
    expect(runs).toBe(1)
  })

  test('is not asked with another body: 422', async () => {
    await call('reused')
    const reply = await call('reused', { body: { a: 2 } })
    expect([reply.statusCode, reply.json().error.code]).toEqual([422, 'idempotency_key_reused'])
    expect(runs).toBe(1)
  })

  test('and refuses before it does leaves the key free', async () => {
    refuses = true
    expect((await call('refused')).statusCode).toBe(422)
    expect(await db`select from idempotency_keys where key = ${stored('refused')}`).toHaveLength(0)
    refuses = false
    expect((await call('refused')).json()).toEqual({ run: 1 })
  })

  test('runs in the place of a process that died before its work began', async () => {
    await call('died')
    await db`
      update idempotency_keys
      set answer_status = null, answer_body = null, lease_until = now() - interval '1 second'
      where company_id > 0 and key = ${stored('died')}
    `
    expect((await call('died')).json()).toEqual({ run: 2 })
  })

  test('finds it reserved for requests that its config leaves out', async () => {
    expect((await call('later', { url: '/public/v1/reserve?later' })).json()).toEqual({ isReserved: true })
  })

  test('has its lease renewed', async () => {
    const gate = Promise.withResolvers<void>()
    hold = gate.promise
    const running = call('long')
    await expect.poll(() => runs).toBe(1)
    const where = sql`company_id > 0 and key = ${stored('long')}`
    await db`update idempotency_keys set lease_until = now() - interval '1 second' where ${where}`
    const isLeased = async () =>
      (await db`select from idempotency_keys where lease_until > now() + interval '10 seconds' and ${where}`).length ===
      1
    await expect.poll(isLeased).toBe(true)
    gate.resolve()
    await running
  })
})
