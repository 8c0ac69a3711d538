import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { afterAll, beforeEach } from 'vitest'
import { answerOnce, completeKey, recordKeyProgress } from '../src/http/idempotency/idempotency.ts'
import { asFinal, providerText, serviceUnavailable, validationError } from '../src/platform/errors.ts'
import { createTestApi, createTestKey } from './api.ts'
import { createTestDatabase } from './database.ts'

/** Routes of every kind with an Idempotency-Key. */
export async function startKeyedRoutes() {
  /** How often routes ran and recovered an answer, and what they wait for. */
  const routes: { runs: number; recovered: number; hold: Promise<void> | undefined } = {
    runs: 0,
    recovered: 0,
    hold: undefined,
  }
  const seen: unknown[] = []
  const { db } = await createTestDatabase({ mirrors: true })
  /** A key as its row holds it. */
  const stored = (text: string) => createHash('sha256').update(text).digest('base64url')
  await db`create table effects (key text not null)`
  const { app } = await createTestApi({
    db,
    routes: (app) => {
      const work = async (request: FastifyRequest, reply: FastifyReply) =>
        answerOnce(db, request, reply, 200, async () => {
          routes.runs += 1
          await routes.hold
          return { run: routes.runs }
        })
      app.post('/public/v1/work', work)
      app.post('/public/v1/other', work)
      app.post<{ Body: { kind: string } }>('/public/v1/refuse', async (request) => {
        routes.runs += 1
        if (request.body.kind === 'final') throw asFinal(providerText('(#100) Invalid parameter'))
        if (request.body.kind === 'check') throw validationError([{ path: 'kind', message: 'is bad' }])
        throw serviceUnavailable('busy')
      })
      app.post('/public/v1/effect', async (request, reply) =>
        answerOnce(db, request, reply, 201, async (tx) => {
          routes.runs += 1
          await tx`insert into effects (key) values (${String(request.headers['idempotency-key'])})`
          await routes.hold
          return { run: routes.runs }
        }),
      )
      app.post('/public/v1/steps', async (request, reply) => {
        const done = request.idempotency?.progress ?? []
        seen.push(done)
        await recordKeyProgress(db, request, [...(Array.isArray(done) ? done : []), routes.runs])
        routes.runs += 1
        await routes.hold
        await completeKey(db, request, reply, 200, { run: routes.runs })
        return { run: routes.runs }
      })
      app.post('/public/v1/forgetful', async () => ({ run: ++routes.runs }))
      app.post(
        '/public/v1/send',
        {
          config: {
            recoverAnswer: async (_companyId, messageId) => {
              routes.recovered += 1
              return { status: 503, body: { error: { code: 'send_outcome_unknown', message: `of ${messageId}` } } }
            },
          },
        },
        work,
      )
      app.put('/public/v1/work', async () => ({ run: ++routes.runs }))
    },
  })
  afterAll(() => app.close())
  const key = await createTestKey(db)
  beforeEach(() => {
    routes.runs = 0
    routes.hold = undefined
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
  return { routes, seen, db, stored, app, key, call, dies }
}
