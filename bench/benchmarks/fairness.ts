import { setTimeout as sleep } from 'node:timers/promises'
import { medianOf } from '../average.ts'
import type { Bench, BenchContext } from '../bench.ts'
import { costOf } from '../cost.ts'
import { figure, ratioFigure } from '../figure.ts'
import { type Load, type LoadOrder, type LoadReport, requireCleanReport, startLoad } from '../load.ts'
import { type Company, numberOf, onStage, type Stage } from '../stage.ts'

const CONTACTS = 20_000
const MOST_AT_ONCE = 1_000
const IMPORT_ROWS = 100_000
/** The other company's p99 may be so many times its quiet one. */
const GOAL = 3
/** The load runs for so long before the other company's requests are counted. */
const LEAD_MS = 500

type Play = {
  context: BenchContext
  stage: Stage
  /** Reads: has CONTACTS contacts, and nothing adds to them. */
  reader: Company
  /** Writes. */
  writer: Company
  /** Contacts of the reader. */
  ids: string[]
  /** A server that inserts each body into the same database by itself. */
  bareUrl: string
  /** The first page of another company's contacts, one request at a time from a process of its own. */
  read(seconds: number): Promise<LoadReport>
}

/**
 * One company at full load by each kind of work; another company's reads meanwhile, alternately with its reads while
 * nothing else runs.
 */
export const fairnessBench: Bench = async (context) => {
  const kinds = Object.entries(KINDS).filter(([kind]) => kind.includes(context.only))
  if (kinds.length === 0) return
  await onStage(async (stage) => {
    const otherLoad = startLoad()
    try {
      const play = await prepare(context, stage, otherLoad)
      await compare(play, CONTROL, controlOrder(play))
      const slow: string[] = []
      for (const [kind, order] of kinds) {
        const ratio = await compare(play, kind, order(play))
        if (ratio > GOAL) slow.push(`${kind}: ${ratio.toFixed(1)}`)
      }
      const goal = { atLeast: kinds.length, limitedBy: slow.join('; ') }
      const what = `kinds of load under which another company's p99 is within ${GOAL} times`
      context.report(figure(what, kinds.length - slow.length, '', goal))
    } finally {
      await otherLoad.stop()
    }
  })
}

async function prepare(context: BenchContext, stage: Stage, otherLoad: Load): Promise<Play> {
  const [reader, writer] = [await stage.createCompany(0), await stage.createCompany(1)]
  const other = await stage.createCompany(0)
  const settings = { from: 'shop@example.org', fromName: 'Shop' }
  await stage.operator('PUT', `/companies/${writer.companyId}/email-settings`, settings)
  await fill(stage, reader, CONTACTS)
  await fill(stage, other, MOST_AT_ONCE)
  await stage.db`vacuum analyze`
  const contacts = await stage.db<{ id: number }[]>`select id from contacts where company_id = ${reader.companyId}`
  const { address: bareUrl } = await stage.start('bench/baseline.ts', [stage.databaseUrl])
  const page = { url: stage.url, path: '/public/v1/contacts?limit=25', headers: other.headers, concurrency: 1 }
  const read = (seconds: number) => otherLoad.run({ ...page, seconds })
  await read(2)
  return { context, stage, reader, writer, ids: contacts.map(({ id }) => String(id)), bareUrl, read }
}

/** The cost of the machine itself for the other company: the same processors and disk are busy, the service is not. */
const CONTROL = 'control: another server on the same database, 64 in flight'

const controlOrder = ({ bareUrl, writer: { headers } }: Play): LoadOrder => ({
  ...{ url: bareUrl, method: 'POST', path: '/', headers, body: '{"n":"{n}"}', concurrency: 64 },
})

/** Each kind of work at full load. */
const KINDS: Record<string, (play: Play) => LoadOrder> = {
  'arrays of 100 contacts, 40 in flight': (play) =>
    post(
      play,
      40,
      '/contacts',
      arrayOf(100, (i) => ({ email: `array{n}-${i}@example.com`, firstName: 'Ada' })),
    ),
  'arrays of 1,000 contacts that share one phone, 12 in flight': (play) => {
    const one = (i: number) => ({ email: `shared${i % 2}@example.com`, phone: '+393310000000', firstName: `Ada ${i}` })
    return post(play, 12, '/contacts', arrayOf(MOST_AT_ONCE, one))
  },
  'single contacts, 64 in flight': (play) => post(play, 64, '/contacts', '{"email":"one{n}@example.com"}'),
  'imports of 100,000 rows, 1 in flight': (play) => {
    const rows = Array.from({ length: IMPORT_ROWS }, (_, i) => `row{n}-${i}@example.com,Ada`)
    const headers = { ...play.writer.headers, 'content-type': 'text/csv' }
    return {
      ...post(play, 1, '/contacts/import', `email,first_name\r\n${rows.join('\r\n')}\r\n`),
      headers,
      status: 202,
    }
  },
  'exports of 20,000 contacts, 8 in flight': (play) => get(play, 8, '/contacts/export'),
  'searches, 40 in flight': (play) =>
    get(play, 40, '/contacts?search={choice}', ['lovelace', 'example', 'ace%2019', 'zzz']),
  'mails, 40 in flight': (play) => {
    const mail = { to: 'reader-{n}@example.com', subject: 'Order {n}', html: '<p>{n}</p>' }
    return { ...post(play, 40, '/emails', JSON.stringify(mail)), status: 201 }
  },
  'sends, 64 in flight': (play) => {
    const body = JSON.stringify({ recipient: '{phone}', type: 'template', template: { name: 'shipping_notice' } })
    return { ...post(play, 64, '/templates/whatsapp/send', body), phones: 1_000_000 }
  },
  'archives of a contact, 8 in flight': (play) => get(play, 8, '/contacts/{choice}/archive', play.ids),
  'erasures of a contact, 8 in flight': (play) => {
    const { authorization = '' } = play.reader.headers
    const order = get(play, 8, '/contacts/{choice}?erase=true', play.ids)
    return { ...order, method: 'DELETE', headers: { authorization } }
  },
}

const arrayOf = (length: number, one: (i: number) => object) => JSON.stringify(Array.from({ length }, (_, i) => one(i)))

const get = ({ stage, reader }: Play, concurrency: number, path: string, choices: string[] = []): LoadOrder => ({
  ...{ url: stage.url, path: `/public/v1${path}`, headers: reader.headers, concurrency, choices },
})

const post = ({ stage, writer }: Play, concurrency: number, path: string, body: string): LoadOrder => ({
  ...{ url: stage.url, method: 'POST', path: `/public/v1${path}`, headers: writer.headers, body, concurrency },
})

/** Quiet and under the load, alternately; of each the median of the rounds, since a shared machine has outliers. */
async function compare(play: Play, kind: string, order: LoadOrder): Promise<number> {
  const { report, say, quick } = play.context
  const [rounds, seconds] = quick ? [2, 1.5] : [5, 2]
  const reports = { quiet: [] as LoadReport[], loaded: [] as LoadReport[], loud: [] as LoadReport[] }
  const busy: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    reports.quiet.push(await play.read(seconds))
    const full = play.stage.load.run({ ...order, seconds: seconds + LEAD_MS / 1_000 })
    await sleep(LEAD_MS)
    const [loaded, cost] = await costOf(play.stage, () => play.read(seconds))
    reports.loaded.push(loaded)
    busy.push(cost.busy)
    reports.loud.push(await full)
    await untilIdle(play)
  }
  const of = (part: keyof typeof reports, pick: (one: LoadReport) => number) => medianOf(reports[part].map(pick))
  const refusals = reports.loud.map(({ failed }) => JSON.stringify(failed)).join(' ')
  say(`${kind}: ${of('loud', (one) => one.perSecond).toFixed(1)}/s; refused ${refusals}`)
  say(`  p50 ${of('loaded', (one) => one.p50Ms).toFixed(1)} ms, quiet ${of('quiet', (one) => one.p50Ms).toFixed(1)} ms`)
  for (const one of [...reports.quiet, ...reports.loaded]) requireCleanReport(`the other company under ${kind}`, one)
  const quiet = of('quiet', (one) => one.p99Ms)
  const p99Ms = of('loaded', (one) => one.p99Ms)
  say(`  processors ${Math.round(medianOf(busy) * 100)} % busy`)
  report(ratioFigure(`${kind}: another company's p99`, p99Ms, 'ms', { baseline: 'when quiet', baselineValue: quiet }))
  return p99Ms / quiet
}

/** Cancels the lists that wait, and waits until nothing is left to be done. */
async function untilIdle({ stage, writer }: Play): Promise<void> {
  const url = `${stage.url}/public/v1/contacts/imports`
  const { authorization = '' } = writer.headers
  const lists = (await (await fetch(url, { headers: { authorization } })).json()) as { data: { id: number }[] }
  for (const { id } of lists.data) await fetch(`${url}/${id}`, { method: 'DELETE', headers: { authorization } })
  const left = () =>
    numberOf(stage.db<{ value: number }[]>`
      select (
        exists (select from emails where status = 'pending')
        or exists (select from contact_imports where status in ('queued', 'running'))
      )::int as value
    `)
  while ((await left()) > 0) await sleep(100)
}

async function fill({ load, url }: Stage, { headers }: Company, contacts: number): Promise<void> {
  const one = (i: number) => ({ email: `person{n}-${i}@example.com`, firstName: 'Ada', lastName: `Lovelace ${i}` })
  const order = { url, method: 'POST', path: '/public/v1/contacts', headers, body: arrayOf(MOST_AT_ONCE, one) } as const
  requireCleanReport('contacts', await load.run({ ...order, concurrency: 1, requests: contacts / MOST_AT_ONCE }))
}
