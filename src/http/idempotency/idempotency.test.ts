import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestApi, createTestKey } from '../../../test/api.ts'
import { createTestDatabase } from '../../../test/database.ts'
import { expireTable } from '../../../test/lifetimes.ts'
import { writeUnmirrored } from '../../../test/run/mirrors.ts'
import { asFinal, providerText, serviceUnavailable, validationError } from '../../platform/errors.ts'
import { answerOnce, completeKey, parseKey, recordKeyProgress } from './idempotency.ts'
import { recordAnswer, reserveKey } from './idempotency-store.ts'

const { db } = await createTestDatabase({ mirrors: true })
/** A key as its row holds it. */
const stored = (text: string) => createHash('sha256').update(text).digest('base64url')
let runs = 0
let recovered = 0
let hold: Promise<void> | undefined
const seen: unknown[] = []
await db`create table effects (key text not null)`

const { app } = await createTestApi({
  db,
  routes: (app) => {
    const work = async (request: FastifyRequest, reply: FastifyReply) =>
      answerOnce(db, request, reply, 200, async () => {
        runs += 1
        await hold
        return { run: runs }
      })
    app.post('/public/v1/work', work)
    app.post('/public/v1/other', work)
    app.post<{ Body: { kind: string } }>('/public/v1/refuse', async (request) => {
      runs += 1
      if (request.body.kind === 'final') throw asFinal(providerText('(#100) Invalid parameter'))
      if (request.body.kind === 'check') throw validationError([{ path: 'kind', message: 'is bad' }])
      throw serviceUnavailable('busy')
    })
    app.post('/public/v1/effect', async (request, reply) =>
      answerOnce(db, request, reply, 201, async (tx) => {
        runs += 1
        await tx`insert into effects (key) values (${String(request.headers['idempotency-key'])})`
        await hold
        return { run: runs }
      }),
    )
    app.post('/public/v1/steps', async (request, reply) => {
      const done = request.idempotency?.progress ?? []
      seen.push(done)
      await recordKeyProgress(db, request, [...(Array.isArray(done) ? done : []), runs])
      runs += 1
      await hold
      await completeKey(db, request, reply, 200, { run: runs })
      return { run: runs }
    })
    app.post('/public/v1/forgetful', async () => ({ run: ++runs }))
    app.post(
      '/public/v1/send',
      {
        config: {
          recoverAnswer: async (_companyId, messageId) => {
            recovered += 1
            return { status: 503, body: { error: { code: 'send_outcome_unknown', message: `of ${messageId}` } } }
          },
        },
      },
      work,
    )
    app.put('/public/v1/work', async () => ({ run: ++runs }))
  },
})
afterAll(() => app.close())

let key: Awaited<ReturnType<typeof createTestKey>>
beforeAll(async () => {
  key = await createTestKey(db)
})
beforeEach(() => {
  runs = 0
  hold = undefined
})

const call = (
  idempotencyKey: string,
  { url = '/public/v1/work', body = { a: 1 } as unknown, headers = key.headers } = {},
) =>
  app.inject({
    method: 'POST',
    url,
    headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
    payload: JSON.stringify(body),
  })

const dies = (idempotencyKey: string, messageId: number | null) => db`
  update idempotency_keys
  set answer_status = null, answer_body = null, lease_until = now() - interval '1 second', message_id = ${messageId}
  where company_id > 0 and key = ${stored(idempotencyKey)}`

describe('Idempotency-Key', () => {
  test('the same request gets the first answer again, and runs once', async () => {
    const first = await call('again')
    const second = await call('again')
    expect(runs).toBe(1)
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
    hold = gate.promise
    const replies = Array.from({ length: 50 }, () => call('parallel'))
    await expect.poll(() => runs).toBe(1)
    const early = await Promise.race(replies)
    expect([early.statusCode, early.json().error.code]).toEqual([409, 'idempotency_key_in_use'])
    gate.resolve()
    const statuses = (await Promise.all(replies)).map(({ statusCode }) => statusCode)
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(1)
    expect(new Set(statuses)).toEqual(new Set([200, 409]))
    expect(runs).toBe(1)
  })

  test('422 for another body or query under the same key', async () => {
    await call('reused')
    for (const other of [{ body: { a: 2 } }, { url: '/public/v1/work?x=1' }]) {
      const reply = await call('reused', other)
      expect([reply.statusCode, reply.json().error.code]).toEqual([422, 'idempotency_key_reused'])
    }
    expect(runs).toBe(1)
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
    expect(runs).toBe(1)
  })

  test.each(['check', 'busy'])('a refusal before the work began is not kept: %s', async (kind) => {
    await call(`early-${kind}`, { url: '/public/v1/refuse', body: { kind } })
    const again = await call(`early-${kind}`, { url: '/public/v1/refuse', body: { kind } })
    expect(again.headers['idempotent-replayed']).toBeUndefined()
    expect(runs).toBe(2)
    expect(await db`select from idempotency_keys where key = ${stored(`early-${kind}`)}`).toHaveLength(0)
  })

  test('a route that stores no answer for its key is refused: it would run twice', async () => {
    expect((await call('forgetful', { url: '/public/v1/forgetful' })).statusCode).toBe(500)
  })

  test('a key stays reserved while its work can commit, also after its caller got 503; then the first outcome', async () => {
    const gate = Promise.withResolvers<void>()
    hold = gate.promise
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
    hold = gate.promise
    expect((await call('fails-late', { url: '/public/v1/effect' })).statusCode).toBe(503)
    gate.reject(new Error('failed late'))
    hold = undefined
    await expect.poll(async () => (await call('fails-late', { url: '/public/v1/effect' })).statusCode).toBe(201)
    expect(await db`select from effects where key = 'fails-late'`).toHaveLength(1)
  })

  test('the lease of a request that runs is renewed', async () => {
    const gate = Promise.withResolvers<void>()
    hold = gate.promise
    const running = call('long')
    await expect.poll(() => runs).toBe(1)
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
    expect(runs).toBe(0)
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

describe('a process that died', () => {
  test('before its work began anything leaves the key to the next request', async () => {
    await call('died')
    await dies('died', null)
    expect((await call('died', { body: { a: 2 } })).json().error.code).toBe('idempotency_key_reused')
    const replies = await Promise.all(Array.from({ length: 10 }, () => call('died')))
    expect(runs).toBe(2)
    expect(replies.filter(({ statusCode }) => statusCode === 200).length).toBeGreaterThanOrEqual(1)
  })

  test('after its send began is answered with the outcome of the first, and nothing is sent again', async () => {
    await call('lost', { url: '/public/v1/send' })
    await dies('lost', 77)
    recovered = 0
    const first = await call('lost', { url: '/public/v1/send' })
    const second = await call('lost', { url: '/public/v1/send' })
    expect([first.statusCode, first.json().error.message]).toEqual([503, 'of 77'])
    expect([second.body, second.headers['idempotent-replayed']]).toEqual([first.body, 'true'])
    expect([runs, recovered]).toEqual([1, 1])
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
    hold = gate.promise
    const frozen = call('frozen', { url: '/public/v1/effect' })
    await expect.poll(() => runs).toBe(1)
    await dies('frozen', null)
    hold = undefined
    expect((await call('frozen', { url: '/public/v1/effect' })).json()).toEqual({ run: 2 })
    gate.resolve()
    expect((await frozen).json().error.code).toBe('idempotency_key_in_use')
    expect(await db`select from effects where key = 'frozen'`).toHaveLength(1)
    expect((await call('frozen', { url: '/public/v1/effect' })).json()).toEqual({ run: 2 })
  })

  test('leaves what it has done so far to the next request, which continues from there', async () => {
    const gate = Promise.withResolvers<void>()
    hold = gate.promise
    seen.length = 0
    const dead = call('steps', { url: '/public/v1/steps' })
    await expect.poll(() => runs).toBe(1)
    await dies('steps', null)
    hold = undefined
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
