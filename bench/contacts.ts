import { setTimeout as sleep } from 'node:timers/promises'
import { type CursorPosition, encodeCursor } from '../src/http/paging/cursor.ts'
import { measureArrayTime } from './array-time.ts'
import { meanOf } from './average.ts'
import type { Bench, BenchContext } from './bench.ts'
import { figure, ratioFigure } from './figure.ts'
import { joinReports, type LoadOrder, type LoadReport, requireCleanReport } from './load.ts'
import { perItem } from './processor-time.ts'
import { measureSearches } from './search.ts'
import { type Company, onStage, type Stage } from './stage.ts'

const ARRAY = 1_000
const ROWS = { full: 200_000, quick: 20_000 }
const CONTACTS = { full: 1_000_000, quick: 100_000 }
const BARE_AT_ONCE = 10_000
const ROUNDS = 5

const GOALS = {
  upserts: {
    atLeast: 2_500,
    limitedBy:
      'A contact takes 0.23 ms in the service and 0.93 ms in PostgreSQL, where it is locked, matched by email and phone, and enters five indexes, one of them of words.',
  },
  import: {
    atLeast: 0.3,
    limitedBy:
      'A row takes 0.05 ms in the service and 0.05 ms in PostgreSQL, one after the other: it is checked, matched by email and phone, and enters five indexes, one of them of words; the bare insert has one index and no rule.',
  },
  searchable: { atMost: 10, limitedBy: 'Pages wait for the import.' },
}

const PARTS: Record<string, (context: BenchContext, stage: Stage, company: Company) => Promise<void>> = {
  'single upserts': measureUpserts,
  arrays: measureArrays,
  'database time of arrays': measureArrayTime,
  import: measureImport,
  'pages and searches': async (context, stage) => {
    const company = await fillCompany(stage, context.quick ? CONTACTS.quick : CONTACTS.full, context.say)
    await measurePages(context, stage, company)
    await measureSearches(context, stage, company)
  },
}

/** Upserts alone and in arrays, a list imported beside a bare insert of the same rows, pages of a million contacts. */
export const contactsBench: Bench = (context) =>
  onStage(async (stage) => {
    const company = await stage.createCompany(0)
    for (const [name, measure] of Object.entries(PARTS)) {
      if (name.includes(context.only)) await measure(context, stage, company)
    }
  })

const post = (stage: Stage, company: Company, body: string): Omit<LoadOrder, 'concurrency'> => ({
  url: stage.url,
  method: 'POST',
  path: '/public/v1/contacts',
  headers: company.headers,
  body,
  phones: 1_000_000,
  fits: '^\\{"data":\\[\\{"id":',
})

async function measureUpserts({ report, quick, say }: BenchContext, stage: Stage, company: Company): Promise<void> {
  const body = '{"email":"person{n}@example.com","phone":"{phone}","firstName":"Ada","customFields":{"n":"{n}"}}'
  const order = post(stage, company, body)
  await stage.load.run({ ...order, concurrency: 16, seconds: 1 })
  const cpu = await stage.cpu()
  const upserts = await stage.load.run({ ...order, concurrency: 64, seconds: quick ? 3 : 10 })
  say(`processor time per upsert: ${perItem(cpu, await stage.cpu(), upserts.answered)}`)
  requireCleanReport('upserts', upserts)
  report(figure('single upserts, 64 in flight', upserts.perSecond, 'contacts/s', GOALS.upserts))
  report(figure('single upserts, p99', upserts.p99Ms, 'ms'))
}

async function measureArrays({ report, quick }: BenchContext, stage: Stage, company: Company): Promise<void> {
  const items = Array.from({ length: ARRAY }, (_, i) => `{"email":"array{n}-${i}@example.com","firstName":"Ada"}`)
  const order = post(stage, company, `[${items.join()}]`)
  const arrays = await stage.load.run({ ...order, concurrency: 2, requests: quick ? 10 : 40 })
  requireCleanReport('arrays', arrays)
  report(figure('upserts in arrays of 1,000, 2 in flight', arrays.perSecond * ARRAY, 'contacts/s'))
  report(figure('an array of 1,000, median', arrays.p50Ms, 'ms'))
  const one = Array.from({ length: ARRAY }, (_, i) => `{"email":"one{n}@example.com","firstName":"Ada ${i}"}`)
  const named = await stage.load.run({ ...post(stage, company, `[${one.join()}]`), concurrency: 1, requests: 5 })
  requireCleanReport('arrays of one person', named)
  report(figure('an array that names one person 1,000 times, median', named.p50Ms, 'ms'))
}

/** The bare insert before and after the import, of the same rows into a table with nothing but a primary key. */
async function measureImport({ report, quick, say }: BenchContext, stage: Stage): Promise<void> {
  const rows = quick ? ROWS.quick : ROWS.full
  const bare = [await insertBare(stage, rows)]
  const company = await stage.createCompany(0)
  const lines = Array.from({ length: rows }, (_, i) => `${emailOf(i)},+${phoneOf(i)},Ada,${lastNameOf(i)},${i}`)
  const list = `email,phone,first_name,last_name,custom_fields.number\r\n${lines.join('\r\n')}\r\n`
  const cpu = await stage.cpu()
  const startedAt = performance.now()
  const headers = { ...company.headers, 'content-type': 'text/csv' }
  const taken = await fetch(`${stage.url}/public/v1/contacts/import`, { method: 'POST', headers, body: list })
  if (taken.status !== 202) throw new Error(await taken.text())
  const takenMs = performance.now() - startedAt
  const { data } = (await taken.json()) as { data: { id: number } }
  const created = await waitForEnd(stage, company, data.id)
  const endedAt = performance.now()
  const seconds = (endedAt - startedAt) / 1_000
  const used = await stage.cpu()
  const searchableSeconds = await waitForSearch(stage, company, emailOf(rows - 1), endedAt)
  if (created !== rows) throw new Error(`${created} of ${rows} were created`)
  bare.push(await insertBare(stage, rows))
  say(
    `taken in after ${Math.round(takenMs)} ms; bare insert: ${bare.map((rate) => Math.round(rate)).join(', ')} rows/s`,
  )
  say(`processor time per row: ${perItem(cpu, used, rows)}`)
  report(
    ratioFigure(
      `import of ${rows.toLocaleString('en-US')} rows, from first byte to end`,
      rows / seconds,
      'rows/s',
      { baseline: 'bare insert select unnest', baselineValue: meanOf(bare) },
      GOALS.import,
    ),
  )
  report(figure('import: search finds the last row after', searchableSeconds, 's', GOALS.searchable))
}

const emailOf = (i: number) => `person.number${i}@example.com`
const phoneOf = (i: number) => String(393_310_000_000 + i)
const lastNameOf = (i: number) => `Lovelace ${i}`

async function waitForEnd(stage: Stage, { headers }: Company, id: number): Promise<number> {
  for (;;) {
    const answer = await fetch(`${stage.url}/public/v1/contacts/imports/${id}`, { headers })
    const { data } = (await answer.json()) as { data: { status: string; created: number; failure: string } }
    if (data.status === 'completed') return data.created
    if (data.status === 'failed') throw new Error(data.failure)
    await sleep(50)
  }
}

/** Seconds from `since` until a search finds one contact. */
async function waitForSearch(stage: Stage, { headers }: Company, text: string, since: number): Promise<number> {
  for (;;) {
    const answer = await fetch(`${stage.url}/public/v1/contacts?search=${encodeURIComponent(text)}`, { headers })
    const { data } = (await answer.json()) as { data: unknown[] }
    const seconds = (performance.now() - since) / 1_000
    if (data.length === 1) return seconds
    if (seconds > 120) throw new Error(`A search finds ${data.length} contacts`)
    await sleep(50)
  }
}

/** Rows per second of inserts without a rule, 10,000 rows each, into a table of the same columns with a primary key. */
async function insertBare({ db }: Stage, rows: number): Promise<number> {
  await db`create table bare_contacts (like contacts including defaults including identity, primary key (company_id, id))`
  const startedAt = performance.now()
  for (let from = 0; from < rows; from += BARE_AT_ONCE) {
    const part = Array.from({ length: Math.min(BARE_AT_ONCE, rows - from) }, (_, i) => from + i)
    await db`
      insert into bare_contacts (
        company_id, email, email_key, phone, phone_identity, first_name, last_name, search_text, source, source_type,
        custom_fields
      )
      select
        1, email, email, phone, phone, 'Ada', last_name,
        'ada ' || lower(last_name) || E'\n' || email || E'\n' || phone, 'API', 'database',
        jsonb_build_object('number', number)
      from unnest(
        ${part.map(emailOf)}::text[], ${part.map(phoneOf)}::text[], ${part.map(lastNameOf)}::text[],
        ${part.map(String)}::text[]
      ) as input (email, phone, last_name, number)
    `
  }
  const perSecond = rows / ((performance.now() - startedAt) / 1_000)
  await db`drop table bare_contacts`
  return perSecond
}

/** First and deepest page by cursor, of the list and of two searches, alternately. */
async function measurePages({ report, quick }: BenchContext, stage: Stage, company: Company): Promise<void> {
  const contacts = quick ? CONTACTS.quick : CONTACTS.full
  const { companyId } = company
  const deep = await cursorAt(stage, companyId, '')
  const rare = await cursorAt(stage, companyId, 'lovelace 3933100077')
  const lists = {
    list: { first: '', deepest: `&before=${deep}` },
    'list by page number': { first: '', deepest: `&page=${contacts / 25}` },
    'search with few matches': {
      first: '&search=lovelace%203933100077',
      deepest: `&search=lovelace%203933100077&before=${rare}`,
    },
    'search that all match': { first: '&search=ada', deepest: `&search=ada&before=${deep}` },
    'search of one letter': { first: '&search=a', deepest: `&search=a&before=${deep}` },
  }
  for (const [name, pages] of Object.entries(lists)) {
    const reports = { first: [] as LoadReport[], deepest: [] as LoadReport[] }
    const read = (query: string) => {
      const path = `/public/v1/contacts?limit=25${query}`
      // Each contact ends where the next starts: an expression that may end it anywhere tries every way to cut the answer.
      const fits = '^\\{"data":\\[(?:\\{"id":(?:(?!\\{"id":).)*){25}\\],"pagination"'
      const { headers } = company
      return { url: stage.url, method: 'GET', path, headers, concurrency: 1, requests: quick ? 20 : 60, fits } as const
    }
    for (const query of Object.values(pages)) await stage.load.run(read(query))
    const before = await countScans(stage)
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const page of ['first', 'deepest'] as const) reports[page].push(await stage.load.run(read(pages[page])))
    }
    const [first, deepest] = [joinReports(reports.first), joinReports(reports.deepest)]
    requireCleanReport(`${name}, first page`, first)
    requireCleanReport(`${name}, deepest page`, deepest)
    const beside = { baseline: 'first page', baselineValue: first.p50Ms }
    const what = `${name}, deepest page, of ${contacts.toLocaleString('en-US')}, median`
    report(ratioFigure(what, deepest.p50Ms, 'ms', beside, { atMost: 1.5 }))
    report(figure(`${name}: sequential scans`, (await countScans(stage)) - before, 'scans', { atMost: 0 }))
  }
}

/** The place of the 31st oldest contact that holds a text. */
async function cursorAt({ db }: Stage, companyId: number, text: string): Promise<string> {
  const [place] = await db<CursorPosition[]>`
    select (extract(epoch from created_at) * 1000000)::bigint as value, id
    from contacts
    where company_id = ${companyId} and strpos(search_text, ${text}) > 0
    order by created_at, id
    offset 30
    limit 1
  `
  if (place === undefined) throw new Error('There are too few contacts')
  return encodeCursor('created_at', place)
}

async function countScans({ db }: Stage): Promise<number> {
  // Sessions report their statistics at most once a second, and after ten seconds when they are idle.
  await sleep(1_500)
  await Promise.all([1, 2].map(() => db`select pg_stat_force_next_flush(), pg_sleep(0.05)`))
  const [row] = await db<{ scans: number }[]>`
    select sum(seq_scan)::int as scans from pg_stat_user_tables where relname = 'contacts'
  `
  return row?.scans ?? 0
}

/** Filled by SQL; the index of words is created afterwards, since it would take most of the time. */
export async function fillCompany(stage: Stage, contacts: number, say: BenchContext['say']): Promise<Company> {
  const company = await stage.createCompany(0)
  const { companyId } = company
  say(`filling in ${contacts} contacts`)
  const [index] = await stage.db<{ definition: string }[]>`
    select pg_get_indexdef('contacts_by_words'::regclass) as definition
  `
  await stage.db`drop index contacts_by_words`
  await stage.db`
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
  await stage.db`insert into contact_counts (company_id, living) values (${companyId}, ${contacts})`
  say('creating the index of words')
  await stage.db.begin(async (tx) => {
    await tx`set local maintenance_work_mem = '2GB'`
    await tx.unsafe(index?.definition ?? '')
  })
  await stage.db`vacuum analyze contacts`
  return company
}
