import { expireMonths } from '../../src/personal-data/expire-messages.ts'
import { medianOf } from '../average.ts'
import type { Bench, BenchContext } from '../bench.ts'
import { type Cost, costOf } from '../cost.ts'
import { type Figure, figure, ratioFigure } from '../figure.ts'
import { type LoadOrder, mediansByTurns, requireCleanReport } from '../load.ts'
import { residentMegabytes } from '../process.ts'
import { numberOf, onStage, type Stage } from '../stage.ts'
import { untilReceived } from './forward.ts'
import { inboundOrder, waitForEnd } from './inbound.ts'
import { type Filled, fillCompany, type Size } from './scale-fill.ts'
import { sendOrder } from './send.ts'

const SMALL: Size = { messages: 40_000, contacts: 20_000, conversations: 19_001, deliveries: 3_000 }
const QUICK: Size = { messages: 1_000_000, contacts: 100_000, conversations: 19_001, deliveries: 250_000 }
const FULL: Size = { messages: 20_000_000, contacts: 2_000_000, conversations: 380_001, deliveries: 5_000_000 }
/** What a page or statement may cost in a large company, compared with a small one. */
const GOAL = { atMost: 1.5 }
/** While tables are filled, the rows of a new one are written once, without the log. */
const FILLING = [
  ['autovacuum', 'off'],
  ['max_wal_size', "'16GB'"],
  ['wal_level', 'minimal'],
  ['max_wal_senders', '0'],
] as const
const env = { WEBHOOK_ALLOW_PRIVATE: 'true' }

type Plays = Record<'small' | 'large', Play>
type Play = { stage: Stage; company: Filled; receiverUrl: string }

async function timed<T>(work: () => Promise<T>): Promise<[number, T]> {
  const startedAt = performance.now()
  const done = await work()
  return [(performance.now() - startedAt) / 1_000, done]
}

async function fill({ say }: BenchContext, stage: Stage, size: Size): Promise<Play> {
  for (const setting of [
    "shared_preload_libraries = 'pg_stat_statements'",
    'autovacuum = off',
    "max_wal_size = '16GB'",
  ])
    await stage.db.unsafe(`alter system set ${setting}`)
  await stage.restart(env)
  const { address: receiverUrl } = await stage.start('bench/receiver.ts', [])
  const company = await fillCompany(stage, receiverUrl, size, say)
  say('vacuum')
  await stage.db`vacuum analyze`
  for (const [setting] of FILLING) await stage.db.unsafe(`alter system reset ${setting}`)
  await stage.restart(env)
  await stage.db`create extension pg_stat_statements`
  return { stage, company, receiverUrl }
}

/** Bytes of a row with those of its indexes. */
async function measureSizes({ report }: BenchContext, { large: { stage, company } }: Plays): Promise<void> {
  const { db } = stage
  const { size } = company
  for (const [table, rows] of [
    ['messages', size.messages],
    ['contacts', size.contacts],
    ['conversations', size.conversations],
    ['deliveries', size.deliveries],
    ['envelopes', size.deliveries],
  ] as const) {
    const [row] = await db<[{ bytes: number; indexes: number }]>`
      select sum(pg_table_size(relid))::bigint as bytes, sum(pg_indexes_size(relid))::bigint as indexes
      from (select ${table}::regclass as relid union select relid from pg_partition_tree(${table}::regclass)) as part
    `
    report(figure(`${table}: a row`, row.bytes / rows, 'bytes'))
    report(figure(`${table}: its entries in indexes`, row.indexes / rows, 'bytes'))
  }
}

/** Each page of the large company by turns with the first page of the small one. */
async function measurePages({ report }: BenchContext, { small, large }: Plays) {
  const order = ({ stage, company }: Play, path: string): LoadOrder => ({
    ...{
      url: stage.url,
      headers: company.headers,
      path: `/public/v1${path}`,
      concurrency: 1,
      requests: 40,
    },
  })
  const messages = ({ company }: Play, page: number) =>
    `/whatsapp/conversations/${company.chatId}/messages?pageSize=20&page=${page}`
  const pages: Record<string, (play: Play) => string> = {
    'conversations, first page': () => '/whatsapp/conversations?pageSize=20',
    'messages, first page': (play) => messages(play, 1),
    'messages, middle page': (play) => messages(play, Math.ceil(play.company.messages / 40)),
    'messages, deepest page': (play) => messages(play, play.company.messages / 20),
    'contacts, first page': () => '/contacts?limit=25',
    'contacts by phone': () => '/contacts?search=%2B393310000077',
    'delivery log, first page': ({ company }) => `/webhooks/registrations/${company.registrationId}/logs?limit=20`,
  }
  for (const [name, path] of Object.entries(pages)) {
    const ms = await mediansByTurns(large.stage.load, {
      small: order(small, path(small)),
      large: order(large, path(large)),
    })
    // Few parts of a phone number are rare: the index has long lists of contacts for the others.
    const limitedBy = name.includes('phone')
      ? { limitedBy: 'the lists of the search index grow with the contacts' }
      : {}
    report(
      ratioFigure(
        name,
        ms.large,
        'ms',
        { baseline: 'small company', baselineValue: ms.small },
        { ...GOAL, ...limitedBy },
      ),
    )
  }
}

type Path = { name: string; run: (play: Play, amount: Partial<LoadOrder>) => Promise<number> }

/** The paths whose statements are hot: each ends when all its work is done, and answers how much that was. */
const PATHS: Path[] = [
  {
    name: 'sends',
    run: async ({ stage, company }, amount) =>
      requireCleanReport('sends', await run(stage, { ...sendOrder(stage, company), ...amount })).answered,
  },
  {
    name: 'messages forwarded',
    run: async ({ stage, company, receiverUrl }, amount) => {
      await fetch(`${receiverUrl}/reset`)
      const order = { ...inboundOrder(stage, company.senders), ...amount }
      const { answered } = requireCleanReport('events', await run(stage, order))
      await untilReceived(receiverUrl, answered)
      await waitForEnd(stage)
      return answered
    },
  },
]
const run = (stage: Stage, order: Omit<LoadOrder, 'concurrency'>) => stage.load.run({ concurrency: 1, ...order })

/** The mean time of each statement that takes at least a hundredth of the time, one item in flight. */
async function measureStatements({ quick, report, say }: BenchContext, plays: Plays) {
  for (const { name, run } of PATHS) {
    say(`statements of ${name}`)
    for (const play of Object.values(plays)) await run(play, { seconds: quick ? 3 : 10, concurrency: 16 })
    const rounds: Record<'small' | 'large', Map<string, number>[]> = { small: [], large: [] }
    for (let round = 0; round < 5; round += 1) {
      for (const key of ['small', 'large'] as const) {
        const { db } = plays[key].stage
        await db`select pg_stat_statements_reset()`
        await run(plays[key], { requests: quick ? 200 : 500 })
        rounds[key].push(await readTimes(plays[key].stage, quick ? 200 : 500))
      }
    }
    const mean = (of: Map<string, number>[], query: string) => medianOf(of.map((times) => times.get(query) ?? 0))
    const queries = [...(rounds.large[0]?.keys() ?? [])].filter((query) =>
      rounds.small.every((times) => times.has(query)),
    )
    const total = queries.reduce((sum, query) => sum + mean(rounds.large, query), 0)
    for (const query of queries) {
      const [value, baselineValue] = [mean(rounds.large, query), mean(rounds.small, query)]
      const compared = { baseline: 'small company', baselineValue }
      if (value > total / 100) report(ratioFigure(`${name}: ${nameOf(query)}`, value, 'ms', compared, GOAL))
    }
    const all = (of: Map<string, number>[]) => queries.reduce((sum, query) => sum + mean(of, query), 0)
    const compared = { baseline: 'small company', baselineValue: all(rounds.small) }
    report(ratioFigure(`${name}: all statements of one`, all(rounds.large), 'ms', compared, GOAL))
  }
}

/** The time of each statement for each item, by its text without values, which differ between sessions. */
async function readTimes({ db }: Stage, items: number): Promise<Map<string, number>> {
  const rows = await db<{ query: string; ms: number }[]>`
    select query, total_exec_time / ${items}::integer as ms
    from pg_stat_statements
    where query !~ 'pg_stat_statements|^(begin|commit)'
  `
  const times = new Map<string, number>()
  for (const { query, ms } of rows) {
    const text = query.replace(/'[^']*'|\$?\b\d+\b/g, '?').replace(/\s+/g, ' ')
    times.set(text, (times.get(text) ?? 0) + ms)
  }
  return times
}

const nameOf = (query: string): string => query.replaceAll('|', '').trim().slice(0, 90)

/** How many a second, 64 in flight, and what each costs the processors. */
async function measureRates({ quick, report }: BenchContext, plays: Plays) {
  for (const { name, run } of PATHS) {
    const rates: Record<'small' | 'large', number[]> = { small: [], large: [] }
    const costs: { cost: Cost; count: number }[] = []
    for (let turn = 0; turn < (quick ? 2 : 6); turn += 1) {
      for (const key of ['small', 'large'] as const) {
        const [count, cost] = await costOf(plays[key].stage, () => run(plays[key], { seconds: 3, concurrency: 64 }))
        rates[key].push(count / cost.seconds)
        if (key === 'large') costs.push({ cost, count })
      }
    }
    const compared = { baseline: 'small company', baselineValue: medianOf(rates.small) }
    report(ratioFigure(`${name}, 64 in flight`, medianOf(rates.large), '/s', compared, { atLeast: 1 / GOAL.atMost }))
    const ms = (of: (cost: Cost) => number) => medianOf(costs.map(({ cost, count }) => (of(cost) / count) * 1_000))
    report(
      figure(
        `${name}: processor time of the service`,
        ms(({ service }) => service),
        'ms',
      ),
    )
    report(
      figure(
        `${name}: processor time of its database`,
        ms(({ database }) => database),
        'ms',
      ),
    )
  }
  const { service, idleMegabytes } = plays.large.stage
  report(figure('resident memory, idle after the start', idleMegabytes, 'MB'))
  report(figure('resident memory at its highest', residentMegabytes(service.pid).highest, 'MB'))
}

/** Vacuum of the present month, the end of the oldest one, and the drop of the oldest day of deliveries. */
async function measureMaintenance({ report, say }: BenchContext, { large }: Plays): Promise<void> {
  const { db } = large.stage
  const seconds = async (name: string, work: () => Promise<unknown>): Promise<Figure> => {
    say(name)
    return figure(name, (await timed(work))[0], 's')
  }
  const tables = await db<{ name: string; rows: number }[]>`
    select relid::text as name, c.reltuples::bigint as rows
    from pg_partition_tree('messages') join pg_class c on c.oid = relid
    where isleaf and c.reltuples > 0
    order by 1
  `
  const [oldest, present] = [tables[0], tables.at(-1)]
  if (oldest === undefined || present === undefined) throw new Error('No month has messages')
  report(await seconds(`vacuum of ${present.rows} messages of the month`, () => db.unsafe(`vacuum ${present.name}`)))
  report(await seconds('vacuum of the contacts', () => db`vacuum contacts`))
  const days = await numberOf(db<{ value: number }[]>`
    select extract(day from now() - (to_date(${oldest.name.slice(-6)}, 'YYYYMM') + interval '1 month'))::integer - 1 as value
  `)
  const blobStore = { remove: async () => {} }
  const { signal } = new AbortController()
  report(
    await seconds(`end of a month of ${oldest.rows} messages`, () => expireMonths({ db, blobStore }, days, signal)),
  )
  const [, next] = tables
  report(await seconds('of that the drop, as of the next month', () => db.unsafe(`drop table ${next?.name}`)))
  report(await seconds('drop of a day of deliveries', () => db`select drop_delivery_day(${28}::integer)`))
}

const PARTS: Record<string, (context: BenchContext, plays: Plays) => Promise<void>> = {
  sizes: measureSizes,
  pages: measurePages,
  statements: measureStatements,
  rates: measureRates,
  maintenance: measureMaintenance,
}

/** A large company and a small one, each on a database of its own: pages, statements, sizes, vacuum, and the drop of a month. */
export const scaleBench: Bench = (context) =>
  onStage(
    (large) =>
      onStage(
        async (small) => {
          const size = context.quick ? QUICK : FULL
          const [seconds, plays] = await timed(async () => ({
            small: await fill(context, small, SMALL),
            large: await fill(context, large, size),
          }))
          context.report(figure('filling in and analysing', seconds / 60, 'minutes', { atMost: 15 }))
          for (const [name, measure] of Object.entries(PARTS)) {
            context.say(name)
            if (name.includes(context.only)) await measure(context, plays)
          }
        },
        { env },
      ),
    { env },
  )
