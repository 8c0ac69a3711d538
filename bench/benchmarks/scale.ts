import { expireMonths } from '../../src/personal-data/expire-messages.ts'
import { meanOf, medianOf } from '../average.ts'
import { benchOf, type Context } from '../bench.ts'
import { byTurns } from '../by-turns.ts'
import { costOf, sumOf } from '../cost.ts'
import { JOURNEYS, type Receiver, startReceiver } from '../journeys.ts'
import { residentMegabytes } from '../process.ts'
import { numberOf, type Stage } from '../stage.ts'
import { type Filled, fillCompany, type Size } from './fill.ts'
import { comparePages, readerOf } from './read.ts'

const SMALL: Size = { messages: 40_000, contacts: 20_000, conversations: 19_001, deliveries: 3_000 }
const QUICK: Size = { messages: 1_000_000, contacts: 100_000, conversations: 19_001, deliveries: 250_000 }
const FULL: Size = { messages: 20_000_000, contacts: 2_000_000, conversations: 380_001, deliveries: 5_000_000 }
/** What a statement may cost in a large company, compared with a small one. */
const GOAL = 1.5
type Kind = 'small' | 'large'
type Play = { stage: Stage; company: Filled; receiver: Receiver }
type Plays = Context & Record<Kind, Play>
const KINDS: readonly Kind[] = ['small', 'large']

/** A large company and a small one, each on a database of its own: pages, statements, sizes, vacuum, and the drop of a month. */
export const scaleBench = benchOf<Plays>(
  async (context) => {
    const startedAt = performance.now()
    const small = await fill(context, SMALL)
    const large = await fill(context, context.quick ? QUICK : FULL)
    const minutes = (performance.now() - startedAt) / 60_000
    context.report({ name: 'filling in and analysing', value: minutes, unit: 'minutes' })
    return { ...context, small, large }
  },
  {
    sizes: measureSizes,
    pages: async ({ small, large, ...context }) =>
      comparePages(context, await readerOf(large.stage, large.company), await readerOf(small.stage, small.company)),
    statements: measureStatements,
    rates: measureRates,
    maintenance: measureMaintenance,
  },
)

async function fill({ setStage, say }: Context, size: Size): Promise<Play> {
  const stage = await setStage({ statements: true, env: { WEBHOOK_ALLOW_PRIVATE: 'true' } })
  const receiver = await startReceiver(stage)
  const set = async (autovacuum: string, walSize: string) => {
    await stage.db.unsafe(`alter system set autovacuum = ${autovacuum}`)
    await stage.db.unsafe(`alter system set max_wal_size = '${walSize}'`)
    await stage.db`select pg_reload_conf()`
  }
  await set('off', '16GB')
  const company = await fillCompany(stage, `${receiver.url}/0`, size, say)
  await set('on', '1GB')
  return { stage, company, receiver }
}

/** Bytes of a row with those of its indexes. */
async function measureSizes({ report, large: { stage, company } }: Plays): Promise<void> {
  const { deliveries, ...size } = company.size
  for (const [table, rows] of Object.entries({ ...size, deliveries, envelopes: deliveries })) {
    const [row] = await stage.db<[{ bytes: number; indexes: number }]>`
      select sum(pg_table_size(relid))::bigint as bytes, sum(pg_indexes_size(relid))::bigint as indexes
      from (select ${table}::regclass as relid union select relid from pg_partition_tree(${table}::regclass)) as part
    `
    report({ name: `${table}: a row`, value: row.bytes / rows, unit: 'bytes' })
    report({ name: `${table}: its entries in indexes`, value: row.indexes / rows, unit: 'bytes' })
  }
}

/** The journeys whose statements are hot. */
const HOT = ['sends', 'messages forwarded'] as const

/** The mean time of the statements of each step that takes at least a hundredth of the time, one item in flight. */
async function measureStatements({ quick, report, say, ...plays }: Plays): Promise<void> {
  const requests = quick ? 200 : 500
  for (const name of HOT) {
    const run = JOURNEYS[name]
    say(`statements of ${name}`)
    for (const kind of KINDS) await run(plays[kind], { seconds: quick ? 3 : 10, concurrency: 16 })
    const costs = await byTurns(
      KINDS,
      (kind) => costOf(plays[kind].stage, () => run(plays[kind], { requests, concurrency: 1 })),
      5,
    )
    const ms = (kind: Kind, step: string) =>
      medianOf(costs[kind].map(([, { statements }]) => ((statements.get(step) ?? 0) * 1_000) / requests))
    const steps = [...sumOf(costs.large.map(([, cost]) => cost)).statements.keys()]
    const total = (kind: Kind) => steps.reduce((sum, step) => sum + ms(kind, step), 0)
    for (const step of steps.filter((one) => ms('large', one) > total('large') / 100)) {
      const than = { 'small company': ms('small', step) }
      report({ name: `${name}: ${step}`, value: ms('large', step), unit: 'ms', than, atMost: GOAL })
    }
    const than = { 'small company': total('small') }
    report({ name: `${name}: all statements`, value: total('large'), unit: 'ms', than, atMost: GOAL })
  }
}

/** How many a second, 64 in flight, and what each costs the processors. */
async function measureRates({ quick, report, ...plays }: Plays): Promise<void> {
  for (const name of HOT) {
    const run = JOURNEYS[name]
    const done = await byTurns(
      KINDS,
      (kind) => costOf(plays[kind].stage, () => run(plays[kind], { seconds: 3 })),
      quick ? 2 : 6,
    )
    const rateOf = (kind: Kind) => meanOf(done[kind].map(([{ count }, { seconds }]) => count / seconds))
    const than = { 'small company': rateOf('small') }
    report({ name: `${name}, 64 in flight`, value: rateOf('large'), unit: '/s', than, atLeast: 1 / GOAL })
    const { service, database } = sumOf(done.large.map(([, cost]) => cost))
    const count = done.large.reduce((sum, [some]) => sum + some.count, 0)
    report({ name: `${name}: processor time of the service`, value: (service / count) * 1_000, unit: 'ms' })
    report({ name: `${name}: processor time of its database`, value: (database / count) * 1_000, unit: 'ms' })
  }
  const { service, idleMegabytes } = plays.large.stage
  report({ name: 'memory, idle after the start', value: idleMegabytes, unit: 'MB' })
  report({ name: 'memory at its highest', value: residentMegabytes(service.pid).highest, unit: 'MB' })
}

/** Vacuum of the present month, the end of the oldest one, and the drop of the oldest day of deliveries. */
async function measureMaintenance({ report, say, large: { stage } }: Plays): Promise<void> {
  const { db } = stage
  const timed = async (name: string, work: () => PromiseLike<unknown>) => {
    say(name)
    const startedAt = performance.now()
    await work()
    report({ name, value: (performance.now() - startedAt) / 1_000, unit: 's' })
  }
  const months = await db<{ name: string; rows: number }[]>`
    select relid::text as name, c.reltuples::bigint as rows
    from pg_partition_tree('messages') join pg_class c on c.oid = relid
    where isleaf and c.reltuples > 0
    order by 1
  `
  const [oldest, next, present] = [months[0], months[1], months.at(-1)]
  if (oldest === undefined || next === undefined || present === undefined) throw new Error('No month has messages')
  await timed(`vacuum of ${present.rows} messages of the month`, () => db.unsafe(`vacuum ${present.name}`))
  await timed('vacuum of the contacts', () => db`vacuum contacts`)
  const days = await numberOf(db<{ value: number }[]>`
    select extract(day from now() - (to_date(${oldest.name.slice(-6)}, 'YYYYMM') + interval '1 month'))::integer - 1 as value
  `)
  const blobStore = { remove: async () => {} }
  const { signal } = new AbortController()
  await timed(`end of a month of ${oldest.rows} messages`, () => expireMonths({ db, blobStore }, days, signal))
  await timed('of that the drop, as of the next month', () => db.unsafe(`drop table ${next.name}`))
  await timed('drop of a day of deliveries', () => db`select drop_delivery_day(${28}::integer)`)
}
