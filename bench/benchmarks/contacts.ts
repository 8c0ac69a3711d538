import { setTimeout as sleep } from 'node:timers/promises'
import { type CursorPosition, encodeCursor } from '../../src/http/paging/cursor.ts'
import { medianOf } from '../average.ts'
import { type Bench, type BenchContext, benchOf } from '../bench.ts'
import { costOf } from '../cost.ts'
import { check, ratioFigure } from '../figure.ts'
import { compareWithInserts } from '../inserts.ts'
import { type LoadOrder, mediansByTurns, requireCleanReport, startLoad } from '../load.ts'
import { compareWithPeer, peersAreInstalled } from '../peers/compare.ts'
import { type Company, countScans, type Stage } from '../stage.ts'

type Play = { context: BenchContext; stage: Stage; company: Company }

/** Upserts alone and in arrays, a list imported (compared with the peer), pages and searches of a million contacts. */
export const contactsBench: Bench = benchOf(
  async (context, stage) => ({ context, stage, company: await stage.createCompany(0) }),
  {
    'single upserts': measureUpserts,
    peers: measureImport,
    'pages and searches': async (play) => {
      const contacts = play.context.quick ? 100_000 : 1_000_000
      const filled = { ...play, company: await fillCompany(play, contacts) }
      const pageMs = await measurePages(filled, contacts)
      await measureSearches(filled, pageMs)
    },
  },
)

async function measureUpserts({ context, stage, company }: Play): Promise<void> {
  const server = await stage.start('bench/baseline.ts', [stage.databaseUrl])
  const body = '{"email":"person{n}@example.com","phone":"{phone}","firstName":"Ada","customFields":{"n":"{n}"}}'
  const load = { method: 'POST', headers: company.headers, body, phones: 1_000_000, concurrency: 64 } as const
  const service = { ...load, url: stage.url, path: '/public/v1/contacts', fits: '^\\{"data":\\[\\{"id":' }
  const insert = { ...load, url: server.address, path: '/' }
  const what = { name: 'single upserts, 64 in flight', unit: 'contacts/s', service, insert }
  await compareWithInserts({ context, stage }, what, { atLeast: 0.3 })
  await server.stop()
}

/** A list of CSV from the first byte to the end. A search has to find its last row at once. */
async function measureImport({ context, stage }: Play): Promise<void> {
  if (!peersAreInstalled(context)) return
  const rows = context.quick ? 20_000 : 100_000
  const peer = await stage.start('bench/peers/import.ts', [stage.databaseUrl])
  let [list, unfound] = [0, 0]
  const timed = async (name: string, send: (csv: string) => Promise<void>, pids?: number[]) => {
    list += 1
    const lines = Array.from(
      { length: rows },
      (_, i) => `person.${list}.${i}@example.com,+${393_310_000_000 + list * rows + i},Ada,Lovelace ${i},${i}`,
    )
    const csv = `email,phone,first_name,last_name,custom_fields.number\r\n${lines.join('\r\n')}\r\n`
    const [, cost] = await costOf(stage, () => send(csv), pids)
    context.say(`${name}: ${Math.round(rows / cost.seconds)} rows/s`)
    return { count: rows, perSecond: rows / cost.seconds, cost }
  }
  const importList = async (csv: string) => {
    const company = await stage.createCompany(0)
    await finishImport(stage, company, await startImport(stage, company, csv))
    const search = encodeURIComponent(`person.${list}.${rows - 1}@example.com`)
    const found = await fetch(`${stage.url}/public/v1/contacts?search=${search}`, { headers: company.headers })
    const { data } = (await found.json()) as { data: unknown[] }
    if (data.length !== 1) unfound += 1
  }
  const copyList = async (body: string) => {
    const answer = await fetch(peer.address, { method: 'POST', headers: { 'content-type': 'text/csv' }, body })
    const { written } = (await answer.json()) as { written: number }
    if (written !== rows) throw new Error(`${written} of ${rows} were written`)
  }
  await compareWithPeer(
    context,
    'rows/s',
    { name: 'Parley', full: () => timed('Parley', importList) },
    { name: 'COPY and on conflict', full: () => timed('peer', copyList, [peer.pid]) },
  )
  context.report(check('imports whose last row a search does not find', unfound, 'imports'))
  await peer.stop()
}

/** Starts an import; returns its id. */
async function startImport(stage: Stage, company: Company, body: string): Promise<number> {
  const headers = { ...company.headers, 'content-type': 'text/csv' }
  const answer = await fetch(`${stage.url}/public/v1/contacts/import`, { method: 'POST', headers, body })
  if (answer.status !== 202) throw new Error(await answer.text())
  return ((await answer.json()) as { data: { id: number } }).data.id
}

async function finishImport(stage: Stage, { headers }: Company, id: number): Promise<void> {
  for (;;) {
    const answer = await fetch(`${stage.url}/public/v1/contacts/imports/${id}`, { headers })
    const { data } = (await answer.json()) as { data: { status: string; failure: string } }
    if (data.status === 'completed') return
    if (data.status === 'failed') throw new Error(data.failure)
    await sleep(20)
  }
}

/** First and deepest page by cursor, of the list and of searches. Answers the median of the first page. */
async function measurePages({ context, stage, company }: Play, contacts: number): Promise<number> {
  const { headers, companyId } = company
  const deep = await cursorAt(stage, companyId, '')
  const few = '&search=lovelace%203933100077'
  const lists = {
    list: ['', `&before=${deep}`],
    'list by page number': ['', `&page=${contacts / 25}`],
    'search with few matches': [few, `${few}&before=${await cursorAt(stage, companyId, 'lovelace 3933100077')}`],
    'search that all match': ['&search=ada', `&search=ada&before=${deep}`],
    'search of one letter': ['&search=a', `&search=a&before=${deep}`],
  }
  const order = (query = '') => {
    const path = `/public/v1/contacts?limit=25${query}`
    // Each contact ends where the next starts: an expression that may end it anywhere tries every way to cut the answer.
    const fits = '^\\{"data":\\[(?:\\{"id":(?:(?!\\{"id":).)*){25}\\],"pagination"'
    return { url: stage.url, path, headers, concurrency: 1, requests: context.quick ? 20 : 60, fits }
  }
  const scans = await countScans(stage)
  const all: { name: string; first: number; deepest: number }[] = []
  for (const [name, [first, deepest]] of Object.entries(lists)) {
    const orders = { first: order(first), deepest: order(deepest) }
    all.push({ name, ...(await mediansByTurns(stage.load, orders)) })
  }
  context.say(all.map(({ name, first, deepest }) => `${name} ${first.toFixed(1)}, ${deepest.toFixed(1)} ms`).join('; '))
  const [worst] = all.toSorted((a, b) => b.deepest / b.first - a.deepest / a.first)
  const compared = { baseline: 'first page', baselineValue: worst?.first ?? Number.NaN }
  const goal = { atMost: 1.5, limitedBy: worst?.name ?? '' }
  const what = `deepest page of ${contacts.toLocaleString('en-US')}: the slowest kind`
  context.report(ratioFigure(what, worst?.deepest ?? Number.NaN, 'ms', compared, goal))
  context.report(check('sequential scans while reading pages', (await countScans(stage)) - scans, 'scans'))
  return all[0]?.first ?? Number.NaN
}

/** Searches in a company whose contacts are all called Ada Lovelace and a number. */
const SEARCHES: Record<string, string> = {
  'few matches': 'lovelace 3933100077',
  'a formatted phone': '+39 331 000 77 77',
  'one match, frequent parts': 'p393310077777@example',
  'frequent parts, no match': 'lovelace ada',
  'two letters, no match': 'zq',
  'one that all match': 'ada',
}

/** Each search alone, and during an import of another company. */
async function measureSearches(play: Play, pageMs: number): Promise<void> {
  const { context, stage, company } = play
  const load = startLoad()
  const search = async (text: string) => {
    const path = `/public/v1/contacts?limit=25&search=${encodeURIComponent(text)}`
    const order: LoadOrder = { url: stage.url, path, headers: company.headers, concurrency: 1 }
    return requireCleanReport(text, await load.run({ ...order, seconds: context.quick ? 1 : 3 }))
  }
  const all = async () => {
    const found: { name: string; p50Ms: number; p99Ms: number }[] = []
    for (const [name, text] of Object.entries(SEARCHES)) found.push({ name, ...(await search(text)) })
    context.say(
      found.map(({ name, p50Ms, p99Ms }) => `${name} ${p50Ms.toFixed(0)} (p99 ${p99Ms.toFixed(0)}) ms`).join(', '),
    )
    return found
  }
  const quiet = await all()
  const slowest = quiet.toSorted((a, b) => b.p50Ms - a.p50Ms)[0]
  const page = { baseline: 'first page of the list', baselineValue: pageMs }
  const goal = { atMost: 10, limitedBy: slowest?.name ?? '' }
  context.report(ratioFigure('search, median: the slowest kind', slowest?.p50Ms ?? Number.NaN, 'ms', page, goal))
  const importer = await stage.createCompany(0)
  const rows = Array.from({ length: 100_000 }, (_, i) => `r${i}@example.org,+39340${1_000_000 + i},Grace,Hopper ${i}`)
  const id = await startImport(stage, importer, `email,phone,first_name,last_name\r\n${rows.join('\r\n')}\r\n`)
  const loaded = await all()
  const { authorization = '' } = importer.headers
  await fetch(`${stage.url}/public/v1/contacts/imports/${id}`, { method: 'DELETE', headers: { authorization } })
  const [medianLoaded, medianQuiet] = [loaded, quiet].map((some) => medianOf(some.map(({ p99Ms }) => p99Ms)))
  const baseline = { baseline: 'when quiet', baselineValue: medianQuiet ?? Number.NaN }
  const what = "searches during another company's import, p99, median of the kinds"
  context.report(ratioFigure(what, medianLoaded ?? Number.NaN, 'ms', baseline, { atMost: 3 }))
  await load.stop()
}

/** The place of the 31st oldest contact that holds a text. */
async function cursorAt({ db }: Stage, companyId: number, text: string): Promise<string> {
  const [place] = await db<[CursorPosition]>`
    select (extract(epoch from created_at) * 1000000)::bigint as value, id
    from contacts
    where company_id = ${companyId} and strpos(search_text, ${text}) > 0
    order by created_at, id
    offset 30
    limit 1
  `
  return encodeCursor('created_at', place)
}

/** Filled by SQL; the index of words is created afterwards, since it would take most of the time. */
async function fillCompany({ context, stage: { createCompany, db } }: Play, contacts: number): Promise<Company> {
  const company = await createCompany(0)
  const { companyId } = company
  context.say(`filling in ${contacts} contacts`)
  const [index] = await db<[{ definition: string }]>`
    select pg_get_indexdef('contacts_by_words'::regclass) as definition
  `
  await db`drop index contacts_by_words`
  await db`
    insert into contacts (
      company_id, email, email_key, phone, phone_identity, first_name, last_name, search_text, source, source_type,
      created_at, updated_at
    )
    select
      ${companyId}::bigint, 'p' || i || '@example.com', 'p' || i || '@example.com', i::text, i::text, 'Ada',
      'Lovelace ' || i, 'ada lovelace ' || i || E'\\np' || i || E'@example.com\\n' || i, 'API', 'database',
      now() - (i - 393310000000) * interval '1 second', now() - (i - 393310000000) * interval '1 second'
    from generate_series(393310000000, 393310000000 + ${contacts}::bigint - 1) as i
  `
  await db`insert into contact_counts (company_id, living) values (${companyId}, ${contacts})`
  await db.begin(async (tx) => {
    await tx`set local maintenance_work_mem = '2GB'`
    await tx.unsafe(index.definition)
  })
  await db`vacuum analyze contacts`
  return company
}
