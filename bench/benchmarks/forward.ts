import { setTimeout as sleep } from 'node:timers/promises'
import { claimJobs } from '../../src/queue/claim/claim-store.ts'
import { medianOf } from '../average.ts'
import { benchOf, type Context } from '../bench.ts'
import { type Contender, compare } from '../compare.ts'
import { costOf, reasonOf } from '../cost.ts'
import { inboundOrder, JOURNEYS, type Receiver, startReceiver, WARM_UP } from '../journeys.ts'
import type { LoadOrder } from '../load.ts'
import { startPeer, startRedis } from '../peers/install.ts'
import type { Company, Stage } from '../stage.ts'

type Play = Context & { stage: Stage; company: Company; receiver: Receiver }

/** Inbound webhook in to receiver out, signed, logged and durable, compared with the peers. */
export const forwardBench = benchOf<Play>(
  async (context) => {
    const stage = await context.setStage({ statements: true, env: { WEBHOOK_ALLOW_PRIVATE: 'true' } })
    const receiver = await startReceiver(stage)
    const company = await stage.createCompany(8)
    await receiver.register(company, '0', { secret: 'a secret of the benchmark' })
    const play = { ...context, stage, company, receiver }
    await forward(play, WARM_UP)
    return play
  },
  { writes: measureWrites, claims: measureClaims, peers: measurePeers },
)

const forward = JOURNEYS['messages forwarded']

async function measurePeers(play: Play): Promise<void> {
  const { stage, company, receiver } = play
  const redis = await startRedis(stage)
  if (redis === undefined) play.say('redis-server is not installed: BullMQ is left out')
  const helpers = { 'graphile-worker': [], 'pg-boss': [], ...(redis !== undefined && { bullmq: [redis] }) }
  const peers: Record<string, Contender> = {}
  for (const [name, own] of Object.entries(helpers)) {
    const peer = await startPeer(play, stage, `forward-${name}`, receiver.url, ...own.map(({ port }) => String(port)))
    if (peer === undefined) return
    const order = { ...inboundOrder(stage, company), url: peer.address, path: '/' }
    peers[name.replace('-worker', '')] = {
      stage,
      pids: [peer.pid, ...own.map((helper) => helper.pid)],
      run: (load) => receiver.receive(stage.load.run({ ...order, ...load })),
    }
  }
  const parley = { stage, run: (load: Partial<LoadOrder>) => forward(play, load) }
  await compare(play, { name: 'forwards' }, parley, peers).finally(() => redis?.stop())
}

/** Rows and WAL that a forwarded message writes. */
async function measureWrites(play: Play): Promise<void> {
  const { quick, report, say, stage } = play
  const before = await writesOf(stage)
  const [{ count, perSecond }, cost] = await costOf(stage, () => forward(play, { seconds: quick ? 3 : 8 }))
  const after = await writesOf(stage)
  say(`${perSecond.toFixed(1)}/s: ${reasonOf(cost, count)}`)
  const tables = Object.entries(after.tables)
    .map(([name, rows]) => [name, (rows - (before.tables[name] ?? 0)) / count] as const)
    .filter(([, rows]) => rows >= 0.05)
    .toSorted(([, a], [, b]) => b - a)
  const reason = tables.map(([name, some]) => `${name} ${some.toFixed(1)}`).join(', ')
  const rows = tables.reduce((sum, [, some]) => sum + some, 0)
  report({ name: 'rows written per message', value: rows, atMost: 6, reason })
  const kilobytes = (after.bytes - before.bytes) / count / 1_000
  report({ name: 'WAL per message', value: kilobytes, unit: 'kB', atMost: 3.5, reason })
}

type Writes = { tables: Record<string, number>; bytes: number }

/** The writes of the database so far: rows inserted, updated and deleted, by table without their partitions, and bytes of WAL. */
async function writesOf({ db }: Stage): Promise<Writes> {
  // Sessions report at most once a second, and after ten seconds when they are idle.
  await sleep(1_500)
  await Promise.all([1, 2].map(() => db`select pg_stat_force_next_flush(), pg_sleep(0.05)`))
  const [row] = await db<[Writes]>`
    select jsonb_object_agg(name, rows) as tables, (pg_current_wal_insert_lsn() - '0/0')::float as bytes
    from (
      select regexp_replace(relname, '_[0-9]+$', '') as name, sum(n_tup_ins + n_tup_upd + n_tup_del) as rows
      from pg_stat_user_tables
      group by 1
    ) as written
  `
  return row
}

const KIND = 'bench.claim'
const LANES = 1_000

async function measureClaims({ quick, report, stage }: Play): Promise<void> {
  const many = quick ? 100_000 : 1_000_000
  const than = { '1,000 due': await timeClaims(stage, 1_000) }
  const name = `claim, ${many.toLocaleString('en-US')} jobs due`
  const reason = `of 100 jobs, over ${LANES} lanes`
  report({ name, value: await timeClaims(stage, many), unit: 'ms', than, atMost: 1.5, reason })
}

/** The median time in ms of claiming 100 of so many due jobs. Leaves no job behind. */
async function timeClaims({ db }: Stage, jobs: number): Promise<number> {
  await db`
    insert into jobs (kind, lane, company_id, subject_id, due_at)
    select ${KIND}, 'lane-' || n % ${LANES}::int, n % 100, n, now() - interval '1 hour' + n * interval '1 ms'
    from generate_series(1, ${jobs}::int) as n
  `
  await db`vacuum analyze jobs`
  const times: number[] = []
  for (let afterLane = ''; times.length < 40; ) {
    const startedAt = performance.now()
    const limits = { batches: 100, batchSize: 1, laneCap: 100, companyCap: 1_000_000, leaseMs: 15_000 }
    const claimed = await claimJobs(db, { kind: KIND, afterLane, ...limits })
    times.push(performance.now() - startedAt)
    afterLane = claimed.lastLane
    // Put back: every claim finds the same number of due jobs.
    const ids = claimed.jobs.map(({ id }) => id)
    await db`update jobs set claim_id = null, lease_until = null where id = any (${ids}::bigint[])`
  }
  await db`delete from jobs where kind = ${KIND}`
  await db`vacuum jobs`
  return medianOf(times)
}
