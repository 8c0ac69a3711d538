import { setTimeout as sleep } from 'node:timers/promises'
import { medianOf } from '../average.ts'
import { benchOf, type Context } from '../bench.ts'
import { compare } from '../compare.ts'
import { check } from '../figure.ts'
import type { LoadOrder, LoadReport } from '../load.ts'
import { peersAreInstalled } from '../peers/install.ts'
import { type Company, call, type Stage } from '../stage.ts'
import { fillContacts } from './fill.ts'
import { comparePages, cursorAt } from './read.ts'

type Play = Context & { stage: Stage; company: Company }

/** Upserts alone, a list imported (both compared with peers), pages and searches of a million contacts. */
export const contactsBench = benchOf<Play>(
  async (context) => {
    const stage = await context.setStage()
    return { ...context, stage, company: await stage.createCompany(0) }
  },
  {
    'single upserts': measureUpserts,
    'peers: import': measureImport,
    'pages and searches': async (play) => {
      const contacts = play.quick ? 100_000 : 1_000_000
      const company = await play.stage.createCompany(0)
      await fillContacts(play.stage, company, contacts, play.say)
      await measureSearches({ ...play, company }, await measurePages({ ...play, company }, contacts))
    },
  },
)

async function measureUpserts(play: Play): Promise<void> {
  const { stage, company } = play
  if (!peersAreInstalled(play)) return
  const server = await stage.start('bench/peers/insert.ts', [stage.databaseUrl])
  const body = '{"email":"person{n}@example.com","phone":"{phone}","firstName":"Ada","customFields":{"n":"{n}"}}'
  const order = { method: 'POST', headers: company.headers, body, phones: 1_000_000 } as const
  const service = { ...order, url: stage.url, path: '/public/v1/contacts', fits: '^\\{"data":\\[\\{"id":' }
  const insert = { ...order, url: server.address, path: '/' }
  const parley = { run: (load: Partial<LoadOrder>) => stage.load.run({ ...service, ...load }) }
  const peer = { pids: [server.pid], run: (load: Partial<LoadOrder>) => stage.load.run({ ...insert, ...load }) }
  const options = { stage, name: 'single upserts', atLeast: 0.3, atHalfLoad: false }
  await compare(play, options, parley, { 'an insert each': peer })
  await server.stop()
}

/** A list of CSV from the first byte to the end. A search has to find its last row at once. */
async function measureImport(play: Play): Promise<void> {
  const { quick, report, stage } = play
  if (!peersAreInstalled(play)) return
  const count = quick ? 20_000 : 100_000
  const server = await stage.start('bench/peers/import.ts', [stage.databaseUrl])
  let [list, unfound] = [0, 0]
  const timed = async (send: (csv: string) => Promise<void>) => {
    list += 1
    const first = 393_310_000_000 + list * count
    const row = (i: number) => `person.${list}.${i}@example.com,+${first + i},Ada,Lovelace ${i},${i}`
    const csv = csvOf('email,phone,first_name,last_name,custom_fields.number', count, row)
    const startedAt = performance.now()
    await send(csv)
    return { count, perSecond: count / ((performance.now() - startedAt) / 1_000), p99Ms: Number.NaN }
  }
  const importList = async (csv: string) => {
    const company = await stage.createCompany(0)
    await finishImport(stage, company, await startImport(stage, company, csv))
    const search = encodeURIComponent(`person.${list}.${count - 1}@example.com`)
    const { authorization } = company.headers
    const found = await call(`${stage.url}/public/v1/contacts?search=${search}`, 'GET', undefined, authorization)
    if (Object(found).data.length !== 1) unfound += 1
  }
  const copyList = async (body: string) => {
    const answer = await fetch(server.address, { method: 'POST', headers: { 'content-type': 'text/csv' }, body })
    const { written } = (await answer.json()) as { written: number }
    if (written !== count) throw new Error(`${written} of ${count} were written`)
  }
  const peer = { pids: [server.pid], run: () => timed(copyList) }
  await compare(play, { stage, name: 'import', atHalfLoad: false }, { run: () => timed(importList) }, { COPY: peer })
  report(check('imports whose last row a search does not find', unfound))
  await server.stop()
}

const csvOf = (head: string, rows: number, row: (i: number) => string) =>
  `${head}\r\n${Array.from({ length: rows }, (_, i) => row(i)).join('\r\n')}\r\n`

/** Starts an import; returns its id. */
async function startImport(stage: Stage, company: Company, body: string): Promise<number> {
  const headers = { ...company.headers, 'content-type': 'text/csv' }
  const answer = await fetch(`${stage.url}/public/v1/contacts/import`, { method: 'POST', headers, body })
  if (answer.status !== 202) throw new Error(await answer.text())
  return Object(await answer.json()).data.id
}

async function finishImport({ url }: Stage, { headers }: Company, id: number): Promise<void> {
  for (;;) {
    const answer = await call(`${url}/public/v1/contacts/imports/${id}`, 'GET', undefined, headers.authorization)
    const { status, failure } = Object(answer).data
    if (status === 'completed') return
    if (status === 'failed') throw new Error(failure)
    await sleep(100)
  }
}

/** First and deepest page, by cursor and by number, of the list and of searches. Returns the median of the first page. */
async function measurePages(play: Play, contacts: number): Promise<number> {
  const { stage, company } = play
  const list = (query: string, deepest: string) => ({
    path: `/contacts?limit=20${query}`,
    mark: 'first_name',
    deepest,
  })
  const cursor = async (text: string) => `&before=${await cursorAt(stage, company.companyId, text)}`
  const deep = await cursor('')
  const lists = {
    list: list('', deep),
    'by page number': list('', `&page=${contacts / 20}`),
    'few matches': list('&search=lovelace%20123', await cursor('lovelace 123')),
    'all match': list('&search=ada', deep),
    'one letter': list('&search=a', deep),
  }
  const ms = await comparePages(play, { stage, headers: company.headers, lists })
  return ms.list?.first ?? Number.NaN
}

/** Searches in a company whose contacts are all called Ada Lovelace and a number. */
const SEARCHES: Record<string, string> = {
  'few matches': 'lovelace 123',
  'a formatted phone': '+39 331 000 77 77',
  'one match, frequent parts': 'p393310077777@example',
  'frequent parts, no match': 'lovelace ada',
  'two letters, no match': 'zq',
  'one that all match': 'ada',
}

/** Each search alone, and during an import of another company. */
async function measureSearches({ quick, report, say, stage, company }: Play, pageMs: number): Promise<void> {
  const all = async () => {
    const reports: Record<string, LoadReport> = {}
    for (const [name, text] of Object.entries(SEARCHES)) {
      const path = `/public/v1/contacts?limit=25&search=${encodeURIComponent(text)}`
      const order = { url: stage.url, path, headers: company.headers, concurrency: 1, seconds: quick ? 1 : 2 }
      reports[name] = await stage.load.run(order)
    }
    const times = Object.entries(reports).map(([name, { p50Ms, p99Ms }]) => ({ name, p50Ms, p99Ms }))
    const text = times.map(({ name, p50Ms, p99Ms }) => `${name} ${p50Ms.toFixed(0)} (p99 ${p99Ms.toFixed(0)}) ms`)
    say(text.join(', '))
    return { times, text: text.join(', '), p99Ms: medianOf(times.map(({ p99Ms }) => p99Ms)) }
  }
  const quiet = await all()
  const [slowest] = quiet.times.toSorted((a, b) => b.p50Ms - a.p50Ms)
  const value = slowest?.p50Ms ?? Number.NaN
  const than = { 'first page': pageMs }
  report({ name: 'slowest search, median', value, unit: 'ms', than, atMost: 10, reason: quiet.text })
  const importer = await stage.createCompany(0)
  const row = (i: number) => `r${i}@example.org,+39340${1_000_000 + i},Grace,Hopper ${i}`
  const id = await startImport(stage, importer, csvOf('email,phone,first_name,last_name', 100_000, row))
  const loaded = await all()
  const url = `${stage.url}/public/v1/contacts/imports/${id}`
  // It may have ended.
  await call(url, 'DELETE', undefined, importer.headers.authorization).catch(() => {})
  const name = 'p99 of searches during an import'
  report({ name, value: loaded.p99Ms, unit: 'ms', than: { quiet: quiet.p99Ms }, atMost: 3, reason: loaded.text })
}
