import { medianOf } from '../average.ts'
import { benchOf, type Context } from '../bench.ts'
import { byTurns } from '../by-turns.ts'
import { compare } from '../compare.ts'
import { JOURNEYS, type Player, startReceiver } from '../journeys.ts'
import { type Filled, fillCompany, type Size } from './fill.ts'

type Sizes = { small: Size; quick: Size; full: Size }
/** Of `read`, which a run of all has, and of `scale`. */
const READ: Sizes = {
  small: { messages: 4_000, contacts: 400, conversations: 191, deliveries: 3_000 },
  quick: { messages: 200_000, contacts: 40_000, conversations: 38_001, deliveries: 30_000 },
  full: { messages: 1_000_000, contacts: 200_000, conversations: 190_001, deliveries: 60_000 },
}
const SCALE: Sizes = {
  small: { messages: 40_000, contacts: 20_000, conversations: 19_001, deliveries: 3_000 },
  quick: { messages: 1_000_000, contacts: 100_000, conversations: 19_001, deliveries: 250_000 },
  full: { messages: 20_000_000, contacts: 2_000_000, conversations: 380_001, deliveries: 5_000_000 },
}
/** What work for a large company may cost, compared with a small one, and a deep page compared with the first. */
const GOAL = 1.5
const PAGE_SIZE = 20
/** A filtered list has pages up to its 10,000th record. */
const MAX_FILTERED = 10_000

type Play = Player & { company: Filled }
type Plays = Context & { small: Play; large: Play }

/** A large company and a small one, each on a database of its own: pages. */
export const readBench = benchOf<Plays>((context) => prepare(context, READ), { pages: measurePages })

/** The same with pages, rates and sizes. */
export const scaleBench = benchOf<Plays>((context) => prepare(context, SCALE), {
  sizes: measureSizes,
  pages: measurePages,
  rates: measureRates,
})

async function prepare(context: Context, sizes: Sizes): Promise<Plays> {
  const small = await fill(context, sizes.small)
  const large = await fill(context, context.quick ? sizes.quick : sizes.full)
  return { ...context, small, large }
}

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

/** A list that is read page by page: its path with the size of a page, what each of its records has once, and the deepest page. */
type List = { path: string; mark: string; deepest?: string; records?: number }

function listsOf({ chatId, registrationId, messages, size }: Filled): Record<string, List> {
  const conversations = `/whatsapp/conversations?pageSize=${PAGE_SIZE}`
  const chat = `/whatsapp/conversations/${chatId}/messages?pageSize=${PAGE_SIZE}`
  const contacts = `/contacts?limit=${PAGE_SIZE}`
  const logs = `/webhooks/registrations/${registrationId}/logs?limit=${PAGE_SIZE}`
  const pageAt = (records: number) => `&page=${Math.floor(records / PAGE_SIZE)}`
  const filtered = pageAt(Math.min(size.conversations, MAX_FILTERED))
  return {
    conversations: { path: conversations, mark: 'chatId', deepest: pageAt(size.conversations) },
    'filtered conversations': { path: `${conversations}&status=open`, mark: 'chatId', deepest: filtered },
    messages: { path: chat, mark: 'direction', deepest: pageAt(messages) },
    contacts: { path: contacts, mark: 'first_name', deepest: pageAt(size.contacts) },
    'contacts by phone': { path: `${contacts}&search=%2B39331000007`, mark: 'first_name', records: 10 },
    'delivery log': { path: logs, mark: 'deliveryId' },
  }
}

const PAGES = ['first', 'small', 'deepest'] as const
type Page = (typeof PAGES)[number]
type Times = Record<Page, number> & { name: string }

/**
 * Pages by turns: the first of the large company compared with that of the small one, and its deepest with its first. The
 * figures are those of the list whose ratio is the worst.
 */
async function measurePages({ report, say, quick, small, large }: Plays): Promise<void> {
  const ofSmall = listsOf(small.company)
  const read = async ({ stage, company }: Play, { path, mark, records = PAGE_SIZE }: List, page = '') => {
    const load = { url: stage.url, headers: company.headers, concurrency: 1, requests: quick ? 30 : 80 }
    const fits = `^(?:[^]*?"${mark}":){${records}}(?![^]*"${mark}":)`
    return (await large.stage.load.run({ ...load, path: `/public/v1${path}${page}`, fits })).p50Ms
  }
  const times: Times[] = []
  for (const [name, list] of Object.entries(listsOf(large.company))) {
    const readers = {
      first: () => read(large, list),
      small: () => read(small, ofSmall[name] ?? list),
      deepest: async () => (list.deepest === undefined ? Number.NaN : read(large, list, list.deepest)),
    }
    const measured = await byTurns(PAGES, (page) => readers[page](), 5)
    // The first round warms up.
    const medians = PAGES.map((page) => [page, medianOf(measured[page].slice(1))])
    times.push({ name, ...Object.fromEntries(medians) })
    say(`${name}: ${medians.map(([page, ms]) => `${page} ${Number(ms).toFixed(2)} ms`).join(', ')}`)
  }
  report(worstOf(times, 'first', 'small'))
  report(worstOf(times, 'deepest', 'first'))
}

/** The list of which one page costs the most, compared with another. */
function worstOf(times: readonly Times[], page: Page, other: Page) {
  const of = (one: Times) => one[page] / one[other]
  const all = times.filter((one) => of(one) > 0).toSorted((a, b) => of(b) - of(a))
  const reason = all.map((one) => `${one.name} ${of(one).toFixed(2)}`).join(', ')
  const { name = '', [page]: value = Number.NaN, [other]: than = Number.NaN } = all[0] ?? {}
  const goal = { than: { [`its ${other}`]: than }, atMost: GOAL, reason }
  return { name: `${page} page, ${name}`, value, unit: 'ms', ...goal }
}

/** Bytes of a row with those of its indexes. */
async function measureSizes({ report, large: { stage, company } }: Plays): Promise<void> {
  for (const [table, rows] of Object.entries({ ...company.size, envelopes: company.size.deliveries })) {
    const [row] = await stage.db<[{ bytes: number; indexes: number }]>`
      select sum(pg_table_size(relid))::bigint as bytes, sum(pg_indexes_size(relid))::bigint as indexes
      from (select ${table}::regclass as relid union select relid from pg_partition_tree(${table}::regclass)) as part
    `
    report({ name: `${table}: a row`, value: row.bytes / rows, unit: 'bytes' })
    report({ name: `${table}: its entries in indexes`, value: row.indexes / rows, unit: 'bytes' })
  }
}

/** How many a second, 64 in flight, and what each and its statements cost the processors. */
async function measureRates({ small, large, ...context }: Plays): Promise<void> {
  for (const name of ['sends', 'messages forwarded'] as const) {
    const sideOf = (play: Play) => ({ stage: play.stage, run: (load: object) => JOURNEYS[name](play, load) })
    const options = { name, atLeast: 1 / GOAL, halfLoad: false, rounds: context.quick ? 2 : 6 }
    await compare(context, options, sideOf(large), { 'small company': sideOf(small) })
  }
}
