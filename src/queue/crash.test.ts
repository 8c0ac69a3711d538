import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { holdOpen, untilBlocked } from '../../test/held-locks.ts'
import { temporaryFolder } from '../../test/temporary-folder.ts'
import { connect } from '../db/connect.ts'
import { startEmbedded } from '../db/embedded/start.ts'
import { migrate } from '../db/migration/migrate.ts'
import { done } from './job.ts'
import { enqueueJobs } from './job-store.ts'
import { createWorker } from './worker.ts'

const FIXTURE = fileURLToPath(new URL('../../test/fixtures/job-worker.ts', import.meta.url))
const KILLS = Number(process.env.KILLS ?? 8)
/** Before each kill, and again when nothing is recorded: more than one worker takes at once. */
const JOBS_PER_KILL = 200

const { db, url } = await createTestDatabase()
const children = new Set<ChildProcess>()

afterEach(() => {
  for (const child of children) child.kill('SIGKILL')
})

async function spawnWorker(): Promise<ChildProcess> {
  const child = spawn(process.execPath, [FIXTURE, url], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.add(child)
  await once(child.stdout, 'data')
  return child
}

test('no job is lost or finished twice, however often workers are killed', { timeout: 300_000 }, async () => {
  await db`create table handled (subject_id bigint not null)`
  await db`create table finished (subject_id bigint not null)`
  let enqueued = 0
  const enqueue = async (count: number) => {
    const subjects = Array.from({ length: count }, (_, i) => enqueued + i)
    await enqueueJobs(
      db,
      subjects.map((subjectId) => ({ kind: 'crash', lane: `lane ${subjectId % 20}`, subjectId })),
    )
    enqueued += count
  }
  const workers = await Promise.all([spawnWorker(), spawnWorker()])
  for (let kill = 0; kill < KILLS; kill++) {
    await enqueue(JOBS_PER_KILL)
    await sleep(Math.random() * 300)
    const victim = workers.shift()!
    // Nothing is recorded now: the victim dies within a job, however long it was left alone.
    const release = await holdOpen(db, 'lock table handled in exclusive mode')
    await enqueue(JOBS_PER_KILL)
    await untilBlocked(db, `job-worker ${victim.pid}`)
    victim.kill('SIGKILL')
    await once(victim, 'exit')
    await release()
    workers.push(await spawnWorker())
  }

  await vi.waitFor(async () => expect(await db`select from jobs`).toHaveLength(0), { timeout: 120_000, interval: 200 })
  const [counts] = await db`
    select
      (select count(*) from finished) as finished,
      (select count(distinct subject_id) from finished) as finished_subjects,
      (select count(distinct subject_id) from handled) as handled_subjects
  `
  expect(counts).toEqual({ finished: enqueued, finishedSubjects: enqueued, handledSubjects: enqueued })
})

test('a worker outlives its database and goes on when it is back', { timeout: 300_000 }, async () => {
  const folder = await mkdtemp(join(temporaryFolder(), 'parley-outage-'))
  const settings = { fsync: 'off', synchronous_commit: 'off' }
  let server = await startEmbedded(folder, settings)
  const pool = connect(server.url, { max: 4 })
  onTestFinished(async () => {
    // Without a limit the driver may wait for ever for connections that the server closed.
    await pool.end({ timeout: 5 })
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  })
  await migrate(pool)
  const log = { error: vi.fn(), warn: vi.fn() }
  const handled = new Set<number>()
  const worker = createWorker({ db: pool, log }, [
    {
      kind: 'work',
      laneCap: 10,
      handle: async (job) => {
        await sleep(20)
        handled.add(job.subjectId)
        return done
      },
    },
    { kind: 'idle', laneCap: 1, handle: async () => done },
  ])
  const unhandled = vi.fn()
  process.on('unhandledRejection', unhandled)

  const put = (from: number) =>
    enqueueJobs(
      pool,
      Array.from({ length: 100 }, (_, i) => ({ kind: 'work', lane: `lane ${i % 5}`, subjectId: from + i })),
    )
  await put(0)
  await vi.waitFor(() => expect(handled.size).toBeGreaterThan(10), { timeout: 90_000, interval: 5 })
  await server.stop()
  const warned = () => log.warn.mock.calls.filter(([, message]) => message === 'job.claim_failed')
  await vi.waitFor(() => expect(warned()).not.toEqual([]), 90_000)
  expect(log.warn.mock.calls.length).toBeLessThan(20)
  server = await startEmbedded(folder, settings)
  // The driver fails the first statement of a connection that the server closed once more after it is back.
  await vi.waitFor(() => put(100), { timeout: 90_000, interval: 100 })
  const left = async () => (await pool`select from jobs`).length
  await vi.waitFor(async () => expect(await left()).toBe(0), { timeout: 60_000, interval: 100 })

  expect(handled.size).toBe(200)
  expect(unhandled).not.toHaveBeenCalled()
  process.off('unhandledRejection', unhandled)
  await worker.stop()
})
