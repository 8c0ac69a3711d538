import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { startCutProxy } from '../../../../test/cut-proxy.ts'
import { createTestDatabase } from '../../../../test/database.ts'
import { connect } from '../../../db/connect.ts'
import { withHeartbeat, withTimeout } from './answers.ts'

const { url } = await createTestDatabase()

async function cuttable() {
  const proxy = await startCutProxy(url)
  const db = connect(proxy.url, { max: 1 })
  onTestFinished(() => db.end({ timeout: 0 }))
  await db`select 1`
  return { proxy, db }
}

const never = new Promise<string>(() => {})
const unavailable = { status: 503, body: { error: { code: 'service_unavailable' } }, headers: { 'retry-after': '1' } }

test('work of usual length times out, and its late result is passed to the callback', async () => {
  const late = Promise.withResolvers<string>()
  await expect(withTimeout(never)).rejects.toMatchObject(unavailable)
  await expect(withTimeout(sleep(1_000, 'it'), late.resolve, 250)).rejects.toMatchObject(unavailable)
  expect(await late.promise).toBe('it')
})

test('long work may take its time while the database answers', async () => {
  const { db } = await cuttable()
  expect(await withHeartbeat(db, sleep(4_500, 'it'))).toBe('it')
  await expect(withHeartbeat(db, Promise.reject(new Error('its own')))).rejects.toThrow('its own')
})

test('long work is refused once the database is silent, and left alone by one that refuses', async () => {
  const { proxy, db } = await cuttable()
  proxy.become('silent')
  await expect(withHeartbeat(db, never)).rejects.toMatchObject(unavailable)
  proxy.become('refused')
  proxy.cut('rst')
  expect(await withHeartbeat(db, sleep(1_500, 'it'))).toBe('it')
})
