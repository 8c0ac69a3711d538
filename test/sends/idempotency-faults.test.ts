import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildApp } from '../../src/app.ts'
import { connect, type Pool } from '../../src/db/connect.ts'
import { createDeps } from '../../src/wiring/deps.ts'
import { compareAnswers } from '../contract/described-answers.ts'
import { startCutProxy } from '../cut-proxy.ts'
import { eventually } from '../service.ts'
import { type Attempt, startCases } from './idempotency-cases.ts'

const { service, db, lockDb, companyId, token, CASES } = await startCases()

/** An API process of its own whose database is behind a proxy. */
async function startFaultyApi() {
  // Tests run side by side: the end of one must not close the way of another.
  let closeProxy: () => unknown = () => {}
  const proxy = await startCutProxy(service.databaseUrl, (close) => {
    closeProxy = close
  })
  const faulty: Pool = connect(proxy.url, { max: 4 })
  const config = { ...service.deps.config, legacyRemovalDate: new Date('2100-01-01T00:00:00Z') }
  const app = await buildApp(createDeps({ ...service.deps, config, db: faulty, workerDb: faulty }))
  compareAnswers(app)
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const post = async (route: string, { path = route, type = 'application/json', body }: Attempt, key: string) => {
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'idempotency-key': key,
        ...(body !== undefined && { 'content-type': type }),
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, text, isReplayed: response.headers.has('idempotent-replayed') }
  }
  const stop = async () => {
    await app.close()
    await faulty.end({ timeout: 1 })
    await closeProxy()
  }
  return { proxy, post, stop }
}

type Reply = { status: number; text: string; isReplayed: boolean }
const isUnknown = ({ text }: Reply) => text.includes('send_outcome_unknown')
const isDone = (reply: Reply) => reply.status < 300 || (isUnknown(reply) && reply.isReplayed)

/** As if the processes of all requests without an outcome had died: their leases are over. */
const expireLeases = () => db`
  update idempotency_keys set lease_until = now() - interval '1 second'
  where company_id = ${companyId} and answer_status is null`

/** Repeats a request until its outcome is final. */
async function repeat(post: () => Promise<Reply>): Promise<Reply> {
  return eventually(async () => {
    await expireLeases()
    const reply = await post()
    return isDone(reply) ? reply : undefined
  }, 300_000)
}

test('every POST route of the API-key surface is covered', async () => {
  const { body } = await service.call(service.url, 'GET', '/openapi.json')
  const posts = Object.keys(body.paths).filter((path) => body.paths[path].post && !path.startsWith('/admin/'))
  // The provider's events have no key. An agent who answers, and read and typing marks, leave nothing that could be doubled.
  const isKept = (path: string) =>
    !path.startsWith('/public/v1/webhooks/whatsapp') && !/\/(answering|read|typing)$/.test(path)
  expect(posts.filter(isKept).sort()).toEqual(
    Object.keys(CASES)
      .filter((route) => !route.includes(' '))
      .sort(),
  )
})

const MAX_STEPS = 40
const LONGER_THAN_CALLERS_WAIT_MS = 4_000

describe('whatever answer of the database is lost, one key has one effect', () => {
  let api: Awaited<ReturnType<typeof startFaultyApi>>
  beforeAll(async () => {
    api = await startFaultyApi()
  })
  afterAll(() => api.stop())

  test.each(Object.entries(CASES))('%s', { timeout: 240_000 }, async (route, { make }) => {
    const { proxy, post } = api
    let step = 0
    for (let isCut = true; isCut && step < MAX_STEPS; ) {
      step += 1
      const attempt = await make()
      const key = randomUUID()
      proxy.cutAtReply(step)
      const first = await post(route, attempt, key)
      isCut = proxy.hasCut()
      proxy.cutAtReply(Number.POSITIVE_INFINITY)
      const effects = await attempt.effects()
      const last = await repeat(() => post(route, attempt, key))
      const seen = { route, step, isCut, first: first.status, last: last.status, before: effects }
      if (isUnknown(last))
        expect({ ...seen, effects: (await attempt.effects()) <= 1 }).toEqual({ ...seen, effects: true })
      else expect({ ...seen, effects: await attempt.effects() }).toEqual({ ...seen, effects: 1 })
      if (first.status < 300) expect(last.text).toBe(first.text)
    }
    expect(step).toBeLessThan(MAX_STEPS)
    expect(step).toBeGreaterThan(1)
  })
})

describe('work that outlasts its caller takes effect once, and a repeat gets its outcome', () => {
  // Tables are locked side by side, but each by one test at a time.
  const tables = Map.groupBy(
    Object.entries(CASES).flatMap(([route, { make, table }]) => (table ? [{ route, make, table }] : [])),
    ({ table }) => table,
  )
  describe.concurrent.each([...tables])('%s', (table, cases) => {
    test.each(cases)('$route', { concurrent: false }, async ({ route, make }) => {
      const api = await startFaultyApi()
      const attempt = await make()
      const key = randomUUID()
      const release = await lockTable(table)
      try {
        let first = observe(api.post(route, attempt, key))
        await eventually(async () => {
          if (await isAwaited(table)) return true
          // A busy machine may answer 503 before the call needs the table: it is repeated, as clients do.
          if (first.isAnswered) first = observe(api.post(route, attempt, key))
          return false
        })
        // Callers of routes that may take long are not answered 503 while the database answers others.
        const early = await Promise.race([first.reply, sleep(LONGER_THAN_CALLERS_WAIT_MS)])
        const meanwhile = await api.post(route, attempt, key)
        expect([early?.status ?? 503, meanwhile.status], meanwhile.text).toEqual([503, expect.toBeOneOf([409, 503])])
      } finally {
        // Tests of other tables wait for this one.
        await release()
      }
      const last = await eventually(async () => {
        const reply = await api.post(route, attempt, key)
        return isDone(reply) ? reply : undefined
      })
      expect([last.status < 300, await attempt.effects()]).toEqual([true, 1])
      await api.stop()
    })
  })
})

/** Locks a table until the returned function is called. */
async function lockTable(table: string): Promise<() => Promise<void>> {
  const released = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const holder = lockDb.begin(async (tx) => {
    await tx`lock table ${tx(table)} in exclusive mode`
    locked.resolve()
    await released.promise
  })
  await Promise.race([locked.promise, holder])
  return async () => {
    released.resolve()
    await holder
  }
}

/** A call, and whether it was answered by now. */
function observe<Reply>(reply: Promise<Reply>): { reply: Promise<Reply>; isAnswered: boolean } {
  const observed = { reply, isAnswered: false }
  const onEnd = () => {
    observed.isAnswered = true
  }
  reply.then(onEnd, onEnd)
  return observed
}

/** Whether a statement waits for a lock on the table. */
const isAwaited = async (table: string) =>
  (await lockDb`select from pg_locks where not granted and relation = ${table}::regclass`).length > 0
