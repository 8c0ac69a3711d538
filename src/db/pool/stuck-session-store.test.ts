import { once } from 'node:events'
import { createConnection } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { endStuckSessions } from './stuck-session-store.ts'

const { db, url } = await createTestDatabase()

const message = (type: string, ...parts: (string | number)[]): Buffer => {
  const body = Buffer.concat(parts.map((part) => (typeof part === 'number' ? int16(part) : Buffer.from(`${part}\0`))))
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(type), length, body])
}

const int16 = (value: number): Buffer => Buffer.from([value >> 8, value & 255])

/** A client of the service that stops in the middle of a statement, after it took a lock. */
async function stopWithinStatement(applicationName: string): Promise<{ closed: Promise<unknown> }> {
  const { pathname, searchParams } = new URL(url)
  const socket = createConnection(`${searchParams.get('host')}/.s.PGSQL.5432`)
  onTestFinished(() => void socket.destroy())
  const pairs = ['user', 'parley', 'database', pathname.slice(1), 'application_name', applicationName, '']
  socket.write(message('', 3, 0, ...pairs))
  socket.write(message('Q', 'begin; select pg_advisory_xact_lock(4711)'))
  // Parse without the rest: the server waits for it within the statement.
  socket.write(Buffer.concat([message('P', '', 'select 1', 0), message('H')]))
  const closed = once(socket, 'close')
  socket.resume()
  await vi.waitFor(async () => expect(await stopped(applicationName)).toHaveLength(1), 90_000)
  return { closed }
}

const stopped = (applicationName: string) => db`
  select from pg_stat_activity
  where application_name = ${applicationName} and state = 'active' and wait_event = 'ClientRead'
`

test('a session whose client stops within a statement is ended after the time given, its locks too', async () => {
  const { closed } = await stopWithinStatement('parley')
  expect(await endStuckSessions(db, 60)).toBe(0)
  expect(await endStuckSessions(db, 0)).toBe(1)
  await closed
  expect(await db`select from pg_locks where locktype = 'advisory' and objid = 4711`).toEqual([])
})

test('sessions of other programs are left alone', async () => {
  await stopWithinStatement('psql')
  expect(await endStuckSessions(db, 0)).toBe(0)
})
