import { afterAll, expect, test } from 'vitest'
import { createTestApi, createTestKey } from '../../test/api.ts'
import { createTestDatabase } from '../../test/database.ts'
import { eventually } from '../../test/service.ts'

const { db } = await createTestDatabase()
const baseUrl = 'http://127.0.0.1:3000'
/** A route that answers when its caller is not admitted any more, as one that lasts does. */
const { app, sessions } = await createTestApi({
  db,
  hasConsole: true,
  config: { baseUrl },
  routes: (to) => {
    to.get('/public/v1/lasting', { config: { waitsForOthers: true } }, async (request) => {
      const first = await to.isStillAdmitted(request)
      await eventually(async () => !(await to.isStillAdmitted(request)), 5_000)
      return { first }
    })
  },
})
afterAll(() => app.close())

test('an answer that lasts learns within 5 s that its key was revoked', async () => {
  const key = await createTestKey(db)
  const answer = app.inject({ url: '/public/v1/lasting', headers: key.headers })
  setTimeout(() => db`update api_keys set revoked_at = now() where client_id = ${key.clientId}`.execute(), 500)
  expect((await answer).json()).toEqual({ first: true })
})

test('an answer that lasts learns within 5 s that its session ended', async () => {
  const key = await createTestKey(db)
  const { cookie = '' } = (await sessions?.signIn(key.token, '')) ?? {}
  const answer = app.inject({
    url: '/console/api/public/v1/lasting',
    headers: { host: '127.0.0.1:3000', 'sec-fetch-site': 'same-origin', cookie },
  })
  setTimeout(() => db`update api_keys set revoked_at = now() where client_id = ${key.clientId}`.execute(), 500)
  expect((await answer).json()).toEqual({ first: true })
})
