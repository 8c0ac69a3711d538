import { claimJobs } from '../../src/jobs/claim/claim-store.ts'
import { medianOf } from '../average.ts'
import { benchOf, type Context } from '../bench.ts'
import { type Contender, compare } from '../compare.ts'
import { costOf, reasonOf } from '../cost.ts'
import { inboundOrder, JOURNEYS, type Receiver, startReceiver, WARM_UP } from '../journeys.ts'
import { peersAreInstalled, startRedis } from '../peers/install.ts'
import { residentMegabytes } from '../process.ts'
import { type Company, type Stage, statisticsOf } from '../stage.ts'

const SECRET = { secret: 'a secret of the benchmark' }

type Play = Context & { stage: Stage; company: Company; receiver: Receiver }

/** Inbound webhook in to receiver out, signed, logged and durable, compared with the peers. */
export const forwardBench = benchOf<Play>(
  async (context) => {
    const stage = await context.setStage({ statements: true, env: { WEBHOOK_ALLOW_PRIVATE: 'true' } })
    const receiver = await startReceiver(stage)
    const company = await stage.createCompany(8)
    await receiver.register(company, '0', SECRET)
    const play = { ...context, stage, company, receiver }
    await forward(play, WARM_UP)
    return play
  },
  {
    'one registration': (play) => measureWrites(play, 1),
    peers: measurePeers,
    'ten registrations': async (play) => {
      for (let i = 1; i < 10; i += 1) await play.receiver.register(play.company, String(i), SECRET)
      await measureWrites(play, 10)
      await measureMemory(play)
    },
    claims: measureClaims,
  },
)

const forward = JOURNEYS['messages forwarded']

async function measurePeers(play: Play): Promise<void> {
  const { stage, company, receiver } = play
  if (!peersAreInstalled(play)) return
  const redis = await startRedis(stage)
  if (redis === undefined) play.say('redis-server is not installed: BullMQ is left out')
  const helpers = { 'graphile-worker': [], 'pg-boss': [], ...(redis !== undefined && { bullmq: [redis] }) }
  const peers: Record<string, Contender & { stop(): Promise<void> }> = {}
  for (const [name, own] of Object.entries(helpers)) {
    const args = [stage.databaseUrl, receiver.url, ...own.map(({ port }) => String(port))]
    const { address: url, pid, stop } = await stage.start(`bench/peers/forward-${name}.ts`, args)
    const order = { ...inboundOrder(stage, company), url, path: '/' }
    peers[name.replace('-worker', '')] = {
      pids: [pid, ...own.map((helper) => helper.pid)],
      run: (load) => receiver.receive(stage.load.run({ ...order, ...load })),
      stop,
    }
  }
  await compare(play, { stage, name: 'forwards' }, { run: (load) => forward(play, load) }, peers)
  for (const { stop } of Object.values(peers)) await stop()
  redis?.stop()
}

/** Rows and WAL that a forwarded message writes, with one registration or with several. */
async function measureWrites(play: Play, registrations: number): Promise<void> {
  const { quick, report, say, stage } = play
  const before = await writesOf(stage)
  const work = () => forward(play, { seconds: quick ? 3 : 8 }, registrations)
  const [{ count, perSecond }, cost] = await costOf(stage, work)
  const after = await writesOf(stage)
  const what = registrations === 1 ? '1 receiver' : `${registrations} receivers`
  say(`${what}: ${reasonOf(cost, count)}`)
  report({ name: `forwarded, ${what}`, value: perSecond, unit: '/s' })
  const tables = Object.entries(after.tables)
    .map(([name, rows]) => [name, (rows - (before.tables[name] ?? 0)) / count] as const)
    .filter(([, rows]) => rows >= 0.05)
    .toSorted(([, a], [, b]) => b - a)
  const rows = tables.reduce((sum, [, some]) => sum + some, 0)
  const kilobytes = (after.bytes - before.bytes) / count / 1_000
  const reason = tables.map(([name, some]) => `${name} ${some.toFixed(1)}`).join(', ')
  const goal = (atMost: number) => (registrations === 1 ? { atMost, reason } : {})
  report({ name: `rows written per message, ${what}`, value: rows, ...goal(6) })
  report({ name: `WAL per message, ${what}`, value: kilobytes, unit: 'kB', ...goal(3.5) })
}

/** The writes of the database so far: rows inserted, updated and deleted, by table without their partitions, and bytes of WAL. */
const writesOf = (stage: Stage): Promise<{ tables: Record<string, number>; bytes: number }> =>
  statisticsOf(
    stage,
    `select jsonb_object_agg(name, rows) as tables, (pg_current_wal_insert_lsn() - '0/0')::float as bytes
     from (
       select regexp_replace(relname, '_[0-9]+$', '') as name, sum(n_tup_ins + n_tup_upd + n_tup_del) as rows
       from pg_stat_user_tables group by 1
     ) as written`,
  )

/** Rounds of the same load: what the last leaves is compared with what the first left. */
async function measureMemory(play: Play): Promise<void> {
  const { report, quick, stage } = play
  const resident: number[] = []
  for (let round = 0; round < (quick ? 3 : 6); round += 1) {
    await forward(play, { seconds: quick ? 2 : 5 }, 10)
    resident.push(residentMegabytes(stage.service.pid).now)
  }
  const [first = Number.NaN, value = Number.NaN] = [resident[0], resident.at(-1)]
  const rounds = `MB after the rounds: ${resident.map(Math.round).join(', ')}`
  report({
    name: 'memory after rounds of load',
    value,
    unit: 'MB',
    than: { 'the first': first },
    atMost: 1.1,
    reason: rounds,
  })
  const { highest } = residentMegabytes(stage.service.pid)
  const reason = `${Math.round(stage.idleMegabytes)} MB of it when idle after the start; ${rounds}`
  report({ name: 'memory at its highest', value: highest, unit: 'MB', atMost: 200, reason })
}

const KIND = 'bench.claim'
const LANES = 1_000

async function measureClaims({ quick, report, stage }: Play): Promise<void> {
  const many = quick ? 100_000 : 1_000_000
  const than = { '1,000 due': await timeClaims(stage, 1_000) }
  const name = `claim, ${many.toLocaleString('en-US')} jobs due`
  report({
    name,
    value: await timeClaims(stage, many),
    unit: 'ms',
    than,
    atMost: 1.5,
    reason: `of 100 jobs, over ${LANES} lanes`,
  })
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
