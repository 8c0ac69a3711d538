import { setTimeout as sleep } from 'node:timers/promises'
import { medianOf } from './average.ts'
import type { Bench, BenchContext } from './bench.ts'
import { ratioFigure } from './figure.ts'
import { type Load, type LoadOrder, type LoadReport, requireCleanReport, startLoad } from './load.ts'
import { type Company, onStage, type Stage } from './stage.ts'

const CONTACTS = 20_000
const ARRAY = 100
const MOST_AT_ONCE = 1_000
const IMPORT_ROWS = 100_000
/** The other company's p99 may be so many times its quiet one. */
const GOAL = 3
/** The load runs for so long before the other company's requests are counted. */
const LEAD_MS = 500

type Play = {
  stage: Stage
  /** Reads: has CONTACTS contacts, and nothing adds to them. */
  reader: Company
  /** Writes. */
  writer: Company
  /** Contacts of the reader. */
  ids: readonly number[]
  /** A server that inserts each body into the same database by itself. */
  bareUrl: string
}

/**
 * One company at full load by each kind of work; another company's reads beside it, alternately with its reads while
 * nothing else runs.
 */
export const fairnessBench: Bench = (context) =>
  onStage(async (stage) => {
    const [reader, writer] = [await stage.createCompany(0), await stage.createCompany(1)]
    const other = await stage.createCompany(0)
    const settings = { from: 'shop@example.org', fromName: 'Shop' }
    await stage.operator('PUT', `/companies/${writer.companyId}/email-settings`, settings)
    await fill(stage, reader, CONTACTS)
    await fill(stage, other, MOST_AT_ONCE)
    await stage.db`vacuum analyze`
    const contacts = await stage.db<{ id: number }[]>`select id from contacts where company_id = ${reader.companyId}`
    const { address: bareUrl } = await stage.start('bench/baseline.ts', ['insert', stage.databaseUrl])
    const play = { stage, reader, writer, ids: contacts.map(({ id }) => id), bareUrl }
    const otherLoad = startLoad()
    const read = (seconds: number) => readAs(otherLoad, stage, other, seconds)
    await read(2)
    try {
      for (const [kind, start] of Object.entries(KINDS)) {
        if (!kind.includes(context.only) && kind !== CONTROL) continue
        await compare(context, kind, play, read, (seconds) => start(play, seconds))
      }
    } finally {
      await otherLoad.stop()
    }
  })

/** The cost of the machine itself for the other company: the same processors and disk are busy, the service is not. */
const CONTROL = 'control: another server on the same database, 64 in flight'

/** Each kind of work at full load for so many seconds. */
const KINDS: Record<string, (play: Play, seconds: number) => Promise<LoadReport>> = {
  [CONTROL]: ({ stage, bareUrl }, seconds) => {
    const order = { url: bareUrl, method: 'POST', path: '/', headers: { 'content-type': 'application/json' } } as const
    return stage.load.run({ ...order, body: '{"n":"{n}"}', concurrency: 64, seconds })
  },
  'arrays of 100 contacts, 40 in flight': ({ stage, writer }, seconds) => {
    const items = Array.from({ length: ARRAY }, (_, i) => `{"email":"array{n}-${i}@example.com","firstName":"Ada"}`)
    return post(stage, writer, '/contacts', `[${items.join()}]`, { concurrency: 40, seconds })
  },
  'arrays of 1,000 contacts that share one phone, 12 in flight': ({ stage, writer }, seconds) => {
    const items = Array.from(
      { length: MOST_AT_ONCE },
      (_, i) => `{"email":"shared${i % 2}@example.com","phone":"+393310000000","firstName":"Ada ${i}"}`,
    )
    return post(stage, writer, '/contacts', `[${items.join()}]`, { concurrency: 12, seconds })
  },
  'single contacts, 64 in flight': ({ stage, writer }, seconds) =>
    post(stage, writer, '/contacts', '{"email":"one{n}@example.com"}', { concurrency: 64, seconds }),
  [`imports of ${IMPORT_ROWS.toLocaleString('en-US')} rows, 1 in flight`]: ({ stage, writer }, seconds) => {
    const rows = Array.from({ length: IMPORT_ROWS }, (_, i) => `row{n}-${i}@example.com,Ada`)
    const headers = { ...writer.headers, 'content-type': 'text/csv' }
    const body = `email,first_name\r\n${rows.join('\r\n')}\r\n`
    return post(stage, writer, '/contacts/import', body, { headers, concurrency: 1, seconds, status: 202 })
  },
  'exports of 20,000 contacts, 8 in flight': ({ stage, reader }, seconds) =>
    get(stage, reader, '/contacts/export', { concurrency: 8, seconds }),
  'searches, 40 in flight': ({ stage, reader }, seconds) =>
    get(stage, reader, '/contacts?search={choice}', {
      choices: ['lovelace', 'example', 'ace%2019', 'zzz'],
      concurrency: 40,
      seconds,
    }),
  'mails, 40 in flight': ({ stage, writer }, seconds) => {
    const body = JSON.stringify({ to: 'reader-{n}@example.com', subject: 'Order {n}', html: '<p>{n}</p>' })
    return post(stage, writer, '/emails', body, { concurrency: 40, seconds, status: 201 })
  },
  'sends, 64 in flight': ({ stage, writer }, seconds) => {
    const body = JSON.stringify({ recipient: '{phone}', type: 'template', template: { name: 'shipping_notice' } })
    return post(stage, writer, '/templates/whatsapp/send', body, { phones: 1_000_000, concurrency: 64, seconds })
  },
  'archives of a contact, 8 in flight': ({ stage, reader, ids }, seconds) =>
    get(stage, reader, '/contacts/{choice}/archive', { choices: ids.map(String), concurrency: 8, seconds }),
  'erasures of a contact, 8 in flight': ({ stage, reader, ids }, seconds) =>
    stage.load.run({
      ...{ url: stage.url, method: 'DELETE', path: '/public/v1/contacts/{choice}?erase=true' },
      ...{ headers: { authorization: reader.headers.authorization ?? '' }, choices: ids.map(String) },
      ...{ concurrency: 8, seconds },
    }),
}

type Amount = Pick<LoadOrder, 'concurrency' | 'seconds' | 'headers' | 'status' | 'phones' | 'choices'>

const get = ({ load, url }: Stage, { headers }: Company, path: string, amount: Amount) =>
  load.run({ url, method: 'GET', path: `/public/v1${path}`, headers, ...amount })

const post = ({ load, url }: Stage, { headers }: Company, path: string, body: string, amount: Amount) =>
  load.run({ url, method: 'POST', path: `/public/v1${path}`, headers, body, ...amount })

const readAs = (load: Load, { url }: Stage, { headers }: Company, seconds: number) =>
  load.run({ url, method: 'GET', path: '/public/v1/contacts?limit=25', headers, concurrency: 1, seconds })

/** Quiet and beside the load, alternately; of each the median of the rounds, since a shared machine has outliers. */
async function compare(
  { report, say, quick }: BenchContext,
  kind: string,
  play: Play,
  read: (seconds: number) => Promise<LoadReport>,
  start: (seconds: number) => Promise<LoadReport>,
): Promise<void> {
  const [rounds, seconds] = quick ? [2, 1.5] : [5, 2]
  const reports = { quiet: [] as LoadReport[], beside: [] as LoadReport[], loud: [] as LoadReport[] }
  for (let round = 0; round < rounds; round += 1) {
    reports.quiet.push(await read(seconds))
    const full = start(seconds + LEAD_MS / 1_000)
    await sleep(LEAD_MS)
    reports.beside.push(await read(seconds))
    reports.loud.push(await full)
    await untilIdle(play)
  }
  const of = (part: 'quiet' | 'beside' | 'loud', pick: (one: LoadReport) => number) => medianOf(reports[part].map(pick))
  const refusals = reports.loud.map(({ failed }) => JSON.stringify(failed)).join(' ')
  say(`${kind}: ${of('loud', (one) => one.perSecond).toFixed(1)}/s; refused ${refusals}`)
  say(`  p50 ${of('beside', (one) => one.p50Ms).toFixed(1)} ms, quiet ${of('quiet', (one) => one.p50Ms).toFixed(1)} ms`)
  // The service has no such work yet.
  if (reports.loud.every(({ answered, failed }) => answered === 0 && failed['404'] !== undefined)) return
  for (const one of [...reports.quiet, ...reports.beside]) requireCleanReport(`the other company beside ${kind}`, one)
  const baseline = { baseline: 'the same when quiet', baselineValue: of('quiet', (one) => one.p99Ms) }
  const p99Ms = of('beside', (one) => one.p99Ms)
  const goal = kind === CONTROL ? undefined : { atMost: GOAL }
  report(ratioFigure(`${kind}: another company's GET, p99`, p99Ms, 'ms', baseline, goal))
}

/** Cancels the lists that wait, and waits until nothing is left to be done. */
async function untilIdle({ stage, writer }: Play): Promise<void> {
  const url = `${stage.url}/public/v1/contacts/imports`
  const { authorization = '' } = writer.headers
  const lists = (await (await fetch(url, { headers: { authorization } })).json()) as { data: { id: number }[] }
  for (const { id } of lists.data) await fetch(`${url}/${id}`, { method: 'DELETE', headers: { authorization } })
  for (;;) {
    const [left] = await stage.db<{ isBusy: boolean }[]>`
      select exists (select from emails where status = 'pending')
        or exists (select from contact_imports where status in ('queued', 'running')) as is_busy
    `
    if (left?.isBusy !== true) return
    await sleep(100)
  }
}

async function fill({ load, url }: Stage, { headers }: Company, contacts: number): Promise<void> {
  const one = (i: number) => `{"email":"person{n}-${i}@example.com","firstName":"Ada","lastName":"Lovelace ${i}"}`
  const body = `[${Array.from({ length: MOST_AT_ONCE }, (_, i) => one(i)).join()}]`
  const requests = contacts / MOST_AT_ONCE
  const filled = await load.run({
    url,
    method: 'POST',
    path: '/public/v1/contacts',
    headers,
    body,
    concurrency: 1,
    requests,
  })
  requireCleanReport('contacts at the start', filled)
}
