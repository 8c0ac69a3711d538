import { expect, onTestFinished, test } from 'vitest'
import { createTestApi, createTestKey } from '../../test/api.ts'
import { startCutProxy } from '../../test/cut-proxy.ts'
import { createTestDatabase } from '../../test/database.ts'
import { connect } from '../db/connect.ts'

const SESSIONS = 40

test('the sessions of many live streams are read by one statement', async () => {
  const { db, url } = await createTestDatabase()
  const proxy = await startCutProxy(url)
  const watched = connect(proxy.url, { max: 1 })
  const { app, sessions } = await createTestApi({ db: watched, hasConsole: true, routes: () => {} })
  onTestFinished(async () => {
    await app.close()
    await watched.end()
  })
  const cookies: string[] = []
  for (let n = 0; n < SESSIONS; n += 1) {
    const { token } = await createTestKey(db)
    cookies.push((await sessions!.signIn(token, { agent: '' })).cookies[0]!.split(';')[0]!)
  }
  const areLive = () => Promise.all(cookies.map((cookie) => sessions!.isLive(cookie)))
  expect(await areLive()).toEqual(cookies.map(() => true))
  sessions!.drop()
  const readAgain = async () => expect(await areLive()).toEqual(cookies.map(() => true))
  expect(await proxy.roundTripsOf(readAgain)).toBe(1)
})
