import { afterAll, expect, test } from 'vitest'
import { createTestApi, createTestKey } from '../../../test/api.ts'
import { createTestDatabase } from '../../../test/database.ts'
import { eventually } from '../../../test/service.ts'

const { db } = await createTestDatabase()
const baseUrl = 'http://127.0.0.1:3000'
let onFirstCheck = () => {}
/** A route that answers when its caller is not admitted any more, as one that lasts does. */
const { app, sessions } = await createTestApi({
  db,
  hasConsole: true,
  config: { baseUrl },
  routes: (to) => {
    to.get('/public/v1/lasting', { config: { waitsForOthers: true } }, async (request) => {
      const first = await to.isStillAdmitted(request)
      onFirstCheck()
      await eventually(async () => !(await to.isStillAdmitted(request)))
      return { first }
    })
  },
})
afterAll(() => app.close())

type Key = Awaited<ReturnType<typeof createTestKey>>

const asKey = async ({ headers }: Key) => ({ url: '/public/v1/lasting', headers })
const asSession = async ({ token }: Key) => {
  const [cookie = ''] = (await sessions?.signIn(token, { agent: '' }))?.cookies ?? []
  const headers = { host: '127.0.0.1:3000', 'sec-fetch-site': 'same-origin', cookie }
  return { url: '/console/api/public/v1/lasting', headers }
}
const revoke = ({ clientId }: Key) => db`update api_keys set revoked_at = now() where client_id = ${clientId}`
const remove = ({ companyId }: Key) => db`update companies set deleted_at = now() where id = ${companyId}`

test.each([
  ['its key was revoked', asKey, revoke],
  ['its company was removed', asKey, remove],
  ['the key of its session was revoked', asSession, revoke],
  ['the company of its session was removed', asSession, remove],
])('an answer that lasts learns that %s', async (_, as, end) => {
  const key = await createTestKey(db)
  const isAdmitted = new Promise<void>((resolve) => {
    onFirstCheck = resolve
  })
  const answer = app.inject(await as(key))
  await isAdmitted
  await end(key)
  expect((await answer).json()).toEqual({ first: true })
})
