import { setTimeout as sleep } from 'node:timers/promises'
import { meanOf } from '../average.ts'
import { type Bench, type BenchContext, benchOf, byTurns } from '../bench.ts'
import { timeClaims } from '../claim.ts'
import { costOf, memoryFigure, reasonOf } from '../cost.ts'
import { figure, ratioFigure } from '../figure.ts'
import { type LoadOrder, requireCleanReport } from '../load.ts'
import { type Contender, compareWithPeer, peersAreInstalled, startRedis } from '../peers/compare.ts'
import { residentMegabytes } from '../process.ts'
import type { ReceiverReport } from '../receiver.ts'
import { type Company, register, type Stage } from '../stage.ts'
import { inboundOrder } from './inbound.ts'

const NUMBERS = 8
const CONCURRENCY = 64

/** `registration`: the path of the first. */
type Play = { context: BenchContext; stage: Stage; company: Company; receiverUrl: string; registration: string }
/** Where events are posted, and how it is known that all that follows from them is done. */
type Forwarder = { url: string; path: string; registrations: number; isDone(): Promise<boolean>; pids?: number[] }

/** Inbound webhook in to receiver out, signed, logged and durable, compared with the peers. */
export const forwardBench: Bench = benchOf(
  async (context, stage) => {
    await stage.restart({ WEBHOOK_ALLOW_PRIVATE: 'true' })
    const { address: receiverUrl } = await stage.start('bench/receiver.ts', [])
    const company = await stage.createCompany(NUMBERS)
    const play = { context, stage, company, receiverUrl, registration: '' }
    play.registration = await registerAt(play, 0)
    context.say('warming up')
    await forwardMany(play, parleyOf(play, 1), 2)
    return play
  },
  {
    'one registration': (play) => measureEndToEnd(play, 1),
    peers: measurePeers,
    ordered: measureOrdered,
    'ten registrations': async (play) => {
      for (let i = 1; i < 10; i += 1) await registerAt(play, i)
      await measureEndToEnd(play, 10)
      await measureMemory(play)
    },
    claims: measureClaims,
  },
)

const registerAt = ({ stage, company, receiverUrl }: Play, i: number): Promise<string> =>
  register(stage, company, { url: `${receiverUrl}/${i}`, secret: 'a secret of the benchmark' })

const parleyOf = ({ stage }: Play, registrations: number): Forwarder => ({
  url: stage.url,
  path: '/public/v1/webhooks/whatsapp',
  registrations,
  isDone: async () => {
    const [row] = await stage.db<[{ isDone: boolean }]>`
      select not exists (select from deliveries where status = 'pending') as is_done
    `
    return row.isDone
  },
})

const reset = ({ receiverUrl }: Play) => fetch(`${receiverUrl}/reset`)

/** Waits until the receiver has got so many, and the forwarder has written so. */
export async function untilReceived(
  receiverUrl: string,
  count: number,
  isDone = () => Promise.resolve(true),
): Promise<ReceiverReport> {
  const endsAt = performance.now() + 120_000
  for (;;) {
    const report = (await (await fetch(`${receiverUrl}/report`)).json()) as ReceiverReport
    if (report.count >= count && (await isDone())) {
      if (report.count === count) return report
      throw new Error(`${report.count} deliveries of ${count}`)
    }
    if (performance.now() > endsAt) throw new Error(`${report.count} of ${count} deliveries came`)
    await sleep(50)
  }
}

const eventsFor = ({ stage, company }: Play, { url, path }: Forwarder): LoadOrder => ({
  ...inboundOrder(stage, company.senders),
  url,
  path,
  concurrency: CONCURRENCY,
})

/** Webhooks for so many seconds, then until every receiver has the last message: the rate is over the whole time. */
async function forwardMany(play: Play, to: Forwarder, seconds: number) {
  await reset(play)
  const [{ count, perSecond }, cost] = await costOf(
    play.stage,
    async () => {
      const events = requireCleanReport('webhooks', await play.stage.load.run({ ...eventsFor(play, to), seconds }))
      const { lastAtMs } = await untilReceived(play.receiverUrl, events.answered * to.registrations, to.isDone)
      return { count: events.answered, perSecond: events.answered / ((lastAtMs - events.startedAtMs) / 1_000) }
    },
    to.pids,
  )
  return { count, perSecond, cost }
}

/** From before the post until the receiver has the body. */
async function forwardSteadily(play: Play, to: Forwarder, perSecond: number, seconds: number): Promise<number> {
  await reset(play)
  const events = await play.stage.load.run({ ...eventsFor(play, to), perSecond, seconds })
  requireCleanReport('webhooks', events)
  return (await untilReceived(play.receiverUrl, events.answered * to.registrations, to.isDone)).p99Ms
}

const contenderOf = (play: Play, name: string, to: Forwarder): Contender => ({
  name,
  full: (seconds) => forwardMany(play, to, seconds),
  half: (perSecond, seconds) => forwardSteadily(play, to, perSecond, seconds),
})

async function measurePeers(play: Play): Promise<void> {
  const { context, stage, receiverUrl } = play
  if (!peersAreInstalled(context)) return
  const redis = await startRedis(stage)
  if (redis === undefined) context.say('redis-server is not installed: BullMQ is left out')
  const peers = { 'graphile-worker': [], 'pg-boss': [], ...(redis !== undefined && { bullmq: [redis] }) }
  for (const [name, helpers] of Object.entries(peers)) {
    const args = [stage.databaseUrl, receiverUrl, ...helpers.map(({ port }) => String(port))]
    const peer = await stage.start(`bench/peers/forward-${name}.ts`, args)
    const isDone = async () => (await (await fetch(`${peer.address}/left`)).json()) === 0
    const pids = [peer.pid, ...helpers.map(({ pid }) => pid)]
    const to = { url: peer.address, path: '/', registrations: 1, isDone, pids }
    const parley = contenderOf(play, 'Parley', parleyOf(play, 1))
    await compareWithPeer(context, 'forwards/s', parley, contenderOf(play, name, to))
    await peer.stop()
  }
  redis?.stop()
}

async function measureEndToEnd(play: Play, registrations: number): Promise<void> {
  const { context, stage } = play
  const { report } = context
  const what = `${registrations} registration(s)`
  const before = await writesOf(stage)
  const { count, perSecond, cost } = await forwardMany(play, parleyOf(play, registrations), context.quick ? 3 : 10)
  const after = await writesOf(stage)
  context.say(`${what}: ${reasonOf(cost, count)}`)
  report(figure(`forwarded, ${what}`, perSecond, 'messages/s'))
  const [goalOfRows, goalOfBytes] = registrations === 1 ? [6, 3.5] : [undefined, undefined]
  const rows = (after.rows - before.rows) / count
  const tables = Object.entries(after.tables)
    .map(([name, n]) => [name, (n - (before.tables[name] ?? 0)) / count] as const)
    .filter(([, n]) => n >= 0.05)
  const limitedBy = tables.map(([name, n]) => `${name} ${n.toFixed(1)}`).join(', ')
  const goal = (atMost: number | undefined) => (atMost === undefined ? undefined : { atMost, limitedBy })
  report(figure(`row operations per message, ${what}`, rows, '', goal(goalOfRows)))
  const kilobytes = (after.walBytes - before.walBytes) / count / 1_000
  report(figure(`WAL per message, ${what}`, kilobytes, 'kB', goal(goalOfBytes)))
  const p99Ms = await forwardSteadily(play, parleyOf(play, registrations), perSecond / 2, context.quick ? 3 : 10)
  report(figure(`end to end at half load, ${what}, p99`, p99Ms, 'ms'))
}

/** What `ordered` costs: the same load to one registration, with and without it by turns. */
async function measureOrdered(play: Play): Promise<void> {
  const { context, stage, company, registration } = play
  const rateOf = async (ordered: boolean) => {
    const body = JSON.stringify({ ordered })
    const answer = await fetch(`${stage.url}${registration}`, { method: 'PUT', headers: company.headers, body })
    if (!answer.ok) throw new Error(`Updating: ${answer.status} ${await answer.text()}`)
    return (await forwardMany(play, parleyOf(play, 1), context.quick ? 2 : 5)).perSecond
  }
  const rates = await byTurns({ unordered: () => rateOf(false), ordered: () => rateOf(true) })
  const compared = { baseline: 'not ordered', baselineValue: meanOf(rates.unordered) }
  context.report(ratioFigure('forwarded in order of conversations', meanOf(rates.ordered), 'forwards/s', compared))
}

/** The writes of the database so far: rows inserted, updated and deleted, by table, and bytes of WAL. */
async function writesOf({ db }: Stage) {
  // Sessions report what they did once a second, and when they are idle.
  await sleep(1_500)
  const rows = await db<{ name: string; rows: number }[]>`
    select relname as name, (n_tup_ins + n_tup_upd + n_tup_del)::float as rows from pg_stat_user_tables order by 2 desc
  `
  const [wal] = await db<[{ bytes: number }]>`select (pg_current_wal_insert_lsn() - '0/0')::float as bytes`
  const tables = Object.fromEntries(rows.map(({ name, rows }) => [name, rows]))
  return { tables, rows: rows.reduce((sum, { rows }) => sum + rows, 0), walBytes: wal.bytes }
}

/** Rounds of the same load: what the last leaves is compared with what the first left. */
async function measureMemory(play: Play): Promise<void> {
  const { report, quick } = play.context
  const resident: number[] = []
  for (let round = 0; round < (quick ? 4 : 10); round += 1) {
    await forwardMany(play, parleyOf(play, 10), quick ? 2 : 10)
    resident.push(residentMegabytes(play.stage.service.pid).now)
  }
  const compared = { baseline: 'after the first', baselineValue: resident[0] ?? 0 }
  const what = `resident memory after ${resident.length} rounds of load`
  report(ratioFigure(what, resident.at(-1) ?? 0, 'MB', compared, { atMost: 1.1 }))
  report(memoryFigure(play.stage))
}

async function measureClaims({ context, stage }: Play): Promise<void> {
  const many = context.quick ? 100_000 : 1_000_000
  const few = await timeClaims(stage.db, 1_000, 1_000)
  const lots = await timeClaims(stage.db, many, 1_000)
  const compared = { baseline: '1,000 due', baselineValue: few }
  const what = `claim of 100 of ${many.toLocaleString('en-US')} due jobs over 1,000 lanes`
  context.report(ratioFigure(what, lots, 'ms', compared, { atMost: 1.5 }))
}
