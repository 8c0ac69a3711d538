import { randomBytes } from 'node:crypto'
import { expect, type TestContext, test, vi } from 'vitest'
import type { Pool } from '../../src/db/connect.ts'
import { endStuckSessions } from '../../src/db/pool/stuck-session-store.ts'
import { UNPROVEN } from '../../src/inbound/event-store.ts'
import { acceptBodies } from '../../src/inbound/ingest/accept.ts'
import { eventReader } from '../../src/wiring/events/event-reader.ts'
import { startCutProxy } from '../cut-proxy.ts'
import { createTestDatabase } from '../database.ts'
import { type ParleyProcess, startParley, until } from '../parley-process.ts'
import { bodyOf, changeOf, textFrom } from '../provider-webhook.ts'

const STUCK_AFTER_SECONDS = 5
const EVENTS = 60
const TIMEOUT = 240_000

/** A test with a database and processes of its own: most of each is waiting, so they run side by side. */
type Stage = {
  db: Pool
  url: string
  startWorker(databaseUrl: string): Promise<ParleyProcess>
  whenDone: TestContext['onTestFinished']
}

async function createStage({ onTestFinished: whenDone }: TestContext): Promise<Stage> {
  const { db, url } = await createTestDatabase()
  const startWorker = (databaseUrl: string) => startParley(environment(databaseUrl), { whenDone })
  return { db, url, startWorker, whenDone }
}

const environment = (databaseUrl: string) => ({
  DATABASE_URL: databaseUrl,
  ROLE: 'worker',
  ADMIN_TOKEN: 'operator-token-for-tests-0123456789',
  ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
  LOG_LEVEL: 'fatal',
})

/** Events for numbers that are not connected: handling one writes one row of inbound_items. */
async function storeEvents(db: Pool, bytesEach: number): Promise<void> {
  const bodies = Array.from({ length: EVENTS }, (_, n) => {
    const text = textFrom('393331234567', randomBytes(bytesEach / 2).toString('hex'))
    return Buffer.from(JSON.stringify(bodyOf(changeOf(`77${Date.now()}${n}`, { messages: [text] }))))
  })
  await acceptBodies(
    db,
    eventReader,
    bodies.map((body) => ({ body, receivedAt: null, proof: UNPROVEN, address: null })),
  )
}

/** Holds what handling needs, so that the worker stops inside of its transaction; the answer releases it. */
async function holdUp(db: Pool, statement: string): Promise<() => Promise<void>> {
  const held = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const holding = db.begin(async (tx) => {
    await tx.unsafe(statement)
    held.resolve()
    await release.promise
  })
  await held.promise
  return () => {
    release.resolve()
    return holding
  }
}

const lanesHeld = async (db: Pool): Promise<number> => {
  const [row] = await db<[{ count: number }]>`
    select count(*)::int from pg_locks where locktype = 'advisory' and database = (
      select oid from pg_database where datname = current_database()
    )
  `
  return row.count
}

/** Whether the transaction that handles events waits, and no other statement of the worker. */
const isHeldUp = async (db: Pool): Promise<boolean> => {
  const waiting = await db`
    select
    from pg_stat_activity activity
    where datname = current_database() and wait_event_type = 'Lock'
      and exists (
        select from pg_locks held where held.pid = activity.pid and held.locktype = 'advisory' and held.granted
      )
  `
  return waiting.length > 0
}

const BETWEEN_STATEMENTS = { hold: 'lock table inbound_items in access exclusive mode', bytesEach: 100 }
// More than the buffers of a socket take: the database waits for the worker to read on.
const WITHIN_AN_ANSWER = { hold: 'select from inbound_events for update', bytesEach: 60_000 }

type Loss = { worker: ParleyProcess; lose(): void }

async function freezable({ url, startWorker }: Stage): Promise<Loss> {
  const worker = await startWorker(url)
  return { worker, lose: () => void worker.child.kill('SIGSTOP') }
}

async function withMachine({ url, startWorker, whenDone }: Stage): Promise<Loss> {
  const way = await startCutProxy(url, whenDone)
  const worker = await startWorker(way.url)
  return { worker, lose: () => way.become('silent') }
}

/** Loses a worker in the middle of the transaction that handles all events. */
async function loseWorker(
  stage: Stage,
  start: (stage: Stage) => Promise<Loss>,
  { hold, bytesEach }: typeof BETWEEN_STATEMENTS,
) {
  const { db } = stage
  await storeEvents(db, bytesEach)
  const release = await holdUp(db, hold)
  const { worker, lose } = await start(stage)
  await until('the worker holds lanes', () => isHeldUp(db))
  lose()
  await release()
  return worker
}

const untilHandled = (db: Pool) =>
  vi.waitFor(async () => expect(await db`select from inbound_events limit 1`).toEqual([]), { interval: 100 })

test.concurrent.for([
  { name: 'freezes between two statements', start: freezable, ...BETWEEN_STATEMENTS },
  { name: 'freezes within an answer of the database', start: freezable, ...WITHIN_AN_ANSWER },
  { name: 'vanishes with its machine between two statements', start: withMachine, ...BETWEEN_STATEMENTS },
  { name: 'vanishes with its machine within an answer of the database', start: withMachine, ...WITHIN_AN_ANSWER },
])(
  'the events of a worker that $name are handled by another, once',
  { timeout: TIMEOUT },
  async ({ start, ...where }, context) => {
    const stage = await createStage(context)
    const { db, url, startWorker } = stage
    await loseWorker(stage, start, where)
    await startWorker(url)
    await untilHandled(db)
    expect(await db`select from inbound_items`).toHaveLength(EVENTS)
  },
)

test.concurrent(
  'a worker that was frozen handles events again when it goes on',
  async (context) => {
    const stage = await createStage(context)
    const { db } = stage
    const worker = await loseWorker(stage, freezable, BETWEEN_STATEMENTS)
    await vi.waitFor(
      async () => {
        // As another worker does: the session may wait for the rest of a statement that its client began to send.
        await endStuckSessions(db, STUCK_AFTER_SECONDS)
        expect(await lanesHeld(db)).toBe(0)
      },
      { interval: 100 },
    )
    worker.child.kill('SIGCONT')
    await untilHandled(db)
    expect(await db`select from inbound_items`).toHaveLength(EVENTS)
    expect(worker.output()).not.toContain('parley.crashed')
  },
  TIMEOUT,
)
