import { setTimeout as sleep } from 'node:timers/promises'
import { medianOf } from '../average.ts'
import { benchOf, type Context } from '../bench.ts'
import { compare, contender } from '../compare.ts'
import { startPeer } from '../peers/install.ts'
import { type Company, call, type Stage } from '../stage.ts'
import { fillContacts } from './fill.ts'

type Play = Context & { stage: Stage; company: Company }

/** Upserts alone, a list imported (both compared with peers), searches of a million contacts. */
export const contactsBench = benchOf<Play>(
  async (context) => {
    const stage = await context.setStage()
    return { ...context, stage, company: await stage.createCompany(0) }
  },
  {
    'single upserts': measureUpserts,
    'peers: import': measureImport,
    searches: measureSearches,
  },
)

async function measureUpserts(play: Play): Promise<void> {
  const { stage, company } = play
  const peer = await startPeer(play, stage, 'insert')
  if (peer === undefined) return
  const body = '{"email":"person{n}@example.com","phone":"{phone}","firstName":"Ada","customFields":{"n":"{n}"}}'
  const load = { url: stage.url, method: 'POST', headers: company.headers, body, phones: 1_000_000 } as const
  const service = contender(stage, { ...load, path: '/public/v1/contacts', fits: '^\\{"data":\\[\\{"id":' })
  const insert = contender(stage, { ...load, path: '/' }, peer)
  const options = { name: 'single upserts', atLeast: 0.3, halfLoad: false }
  await compare(play, options, service, { 'an insert each': insert })
}

/** A list of CSV from the first byte to the end. A search has to find its last row at once. */
async function measureImport(play: Play): Promise<void> {
  const { quick, stage } = play
  const server = await startPeer(play, stage, 'import')
  if (server === undefined) return
  const count = quick ? 20_000 : 100_000
  let list = 0
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
    const found = Object(await ask(stage, company, 'GET', `?search=${search}`)).data.length
    if (found !== 1) throw new Error('A search does not find the last row of an import')
  }
  const copyList = async (body: string) => {
    const answer = await fetch(server.address, { method: 'POST', headers: { 'content-type': 'text/csv' }, body })
    if (Object(await answer.json()).written !== count) throw new Error('Some rows were not written')
  }
  const peer = { stage, pids: [server.pid], run: () => timed(copyList) }
  const parley = { stage, run: () => timed(importList) }
  await compare(play, { name: 'import', halfLoad: false }, parley, { COPY: peer })
}

const ask = ({ url }: Stage, { headers }: Company, method: string, path: string) =>
  call(`${url}/public/v1/contacts${path}`, method, undefined, headers.authorization)

const csvOf = (head: string, rows: number, row: (i: number) => string) =>
  `${head}\r\n${Array.from({ length: rows }, (_, i) => row(i)).join('\r\n')}\r\n`

/** Starts an import; returns its id. */
async function startImport(stage: Stage, company: Company, body: string): Promise<number> {
  const headers = { ...company.headers, 'content-type': 'text/csv' }
  const answer = await fetch(`${stage.url}/public/v1/contacts/import`, { method: 'POST', headers, body })
  if (answer.status !== 202) throw new Error(await answer.text())
  return Object(await answer.json()).data.id
}

async function finishImport(stage: Stage, company: Company, id: number): Promise<void> {
  for (;;) {
    const { status, failure } = Object(await ask(stage, company, 'GET', `/imports/${id}`)).data
    if (status === 'completed') return
    if (status === 'failed') throw new Error(failure)
    await sleep(100)
  }
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
async function measureSearches({ quick, report, say, stage }: Play): Promise<void> {
  const [company, importer] = [await stage.createCompany(0), await stage.createCompany(0)]
  await fillContacts(stage, company, quick ? 100_000 : 1_000_000)
  const read = (text: string) => {
    const path = `/public/v1/contacts?limit=25&search=${encodeURIComponent(text)}`
    return stage.load.run({ url: stage.url, path, headers: company.headers, concurrency: 1, seconds: quick ? 1 : 2 })
  }
  const readAll = async () => {
    const done: { name: string; p50Ms: number; p99Ms: number }[] = []
    for (const [name, text] of Object.entries(SEARCHES)) done.push({ name, ...(await read(text)) })
    const texts = done.map(({ name, p50Ms, p99Ms }) => `${name} ${p50Ms.toFixed(0)} (p99 ${p99Ms.toFixed(0)}) ms`)
    say(texts.join(', '))
    const slowest = Math.max(...done.map(({ p50Ms }) => p50Ms))
    return { slowest, p99Ms: medianOf(done.map(({ p99Ms }) => p99Ms)), reason: texts.join(', ') }
  }
  const than = { 'first page': (await read('')).p50Ms }
  const { slowest: value, p99Ms: quiet, reason } = await readAll()
  report({ name: 'slowest search, median', value, unit: 'ms', than, atMost: 10, reason })
  const row = (i: number) => `r${i}@example.org,+39340${1_000_000 + i},Grace,Hopper ${i}`
  const id = await startImport(stage, importer, csvOf('email,phone,first_name,last_name', 100_000, row))
  const during = await readAll()
  // It may have ended.
  await ask(stage, importer, 'DELETE', `/imports/${id}`).catch(() => {})
  const goal = { than: { quiet }, atMost: 3, reason: during.reason }
  report({ name: 'p99 of searches during an import', value: during.p99Ms, unit: 'ms', ...goal })
}
