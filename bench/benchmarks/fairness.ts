import { setTimeout as sleep } from 'node:timers/promises'
import { medianOf } from '../average.ts'
import { benchOf, type Context } from '../bench.ts'
import { type Cost, costOf, sumOf } from '../cost.ts'
import type { Load, LoadOrder, LoadReport } from '../load.ts'
import { peersAreInstalled } from '../peers/install.ts'
import { type Company, call, type Stage, untilNone } from '../stage.ts'

const CONTACTS = 20_000
const MOST_AT_ONCE = 1_000
const IMPORT_ROWS = 100_000
/** The other company's p99 may be so many times its quiet one. */
const GOAL = 3
/** The load runs for so long before the other company's requests are counted. */
const LEAD_MS = 500

type Play = Context & {
  stage: Stage
  /** Reads: has CONTACTS contacts, and nothing adds to them. */
  reader: Company
  /** Writes. */
  writer: Company
  /** Contacts of the reader. */
  ids: string[]
  /** The load process of the other company, and its requests: the first page of its contacts, one at a time. */
  otherLoad: Load
  page: LoadOrder
  /** The kinds of load so far, and what is to be said about those that miss the goal. */
  kinds: number
  unfair: string[]
}

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
    const order = post(play, 1, '/contacts/import', `email,first_name\r\n${rows.join('\r\n')}\r\n`)
    return { ...order, headers: { ...order.headers, 'content-type': 'text/csv' }, status: 202 }
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

/**
 * One company at full load by each kind of work; another company's reads meanwhile, alternately with its reads while
 * nothing else runs.
 */
export const fairnessBench = benchOf<Play>(
  prepare,
  {
    control: measureControl,
    ...Object.fromEntries(
      Object.entries(KINDS).map(([kind, order]) => [kind, (play: Play) => measureKind(play, kind, order(play))]),
    ),
  },
  reportKinds,
)

async function prepare(context: Context): Promise<Play> {
  const stage = await context.setStage()
  const [reader, writer] = [await stage.createCompany(0), await stage.createCompany(1)]
  const other = await stage.createCompany(0)
  const settings = { from: 'shop@example.org', fromName: 'Shop' }
  await stage.operator('PUT', `/companies/${writer.companyId}/email-settings`, settings)
  await fill(stage, reader, CONTACTS)
  await fill(stage, other, MOST_AT_ONCE)
  await stage.db`vacuum analyze`
  const contacts = await stage.db<{ id: number }[]>`select id from contacts where company_id = ${reader.companyId}`
  const page = { url: stage.url, path: '/public/v1/contacts?limit=25', headers: other.headers, concurrency: 1 }
  const otherLoad = stage.startLoad()
  await otherLoad.run({ ...page, seconds: 2 })
  const ids = contacts.map(({ id }) => String(id))
  return { ...context, stage, reader, writer, ids, otherLoad, page, unfair: [], kinds: 0 }
}

/** The cost of the machine itself for the other company: the same processors and disk are busy, the service is not. */
async function measureControl(play: Play): Promise<void> {
  if (!peersAreInstalled(play)) return
  const { address: url, stop } = await play.stage.start('bench/peers/insert.ts', [play.stage.databaseUrl])
  const order = { ...post(play, 64, '', '{"n":"{n}"}'), url, path: '/' }
  await measure(play, 'control: another server on the same database, 64 in flight', order)
  await stop()
}

async function measureKind(play: Play, kind: string, order: LoadOrder): Promise<void> {
  const { ratio, reason } = await measure(play, kind, order)
  play.kinds += 1
  if (ratio > GOAL) play.unfair.push(`${kind} ${ratio.toFixed(1)} (${reason})`)
}

async function reportKinds({ report, kinds, unfair }: Play): Promise<void> {
  const name = `kinds within ${GOAL} times the quiet p99`
  if (kinds > 0) report({ name, value: kinds - unfair.length, atLeast: kinds, reason: unfair.join('; ') })
}

/** Quiet and under the load, alternately; of each the median of the rounds, since a shared machine has outliers. */
async function measure({ report, say, quick, stage, writer, otherLoad, page }: Play, kind: string, order: LoadOrder) {
  const seconds = 1.5
  const read = () => otherLoad.run({ ...page, seconds })
  const [quiet, loaded, costs]: [LoadReport[], LoadReport[], Cost[]] = [[], [], []]
  for (let round = 0; round < (quick ? 1 : 3); round += 1) {
    quiet.push(await read())
    const full = stage.load.run({ ...order, tolerant: true, seconds: seconds + LEAD_MS / 1_000 })
    await sleep(LEAD_MS)
    const [report, cost] = await costOf(stage, read)
    loaded.push(report)
    costs.push(cost)
    const { perSecond, failed } = await full
    say(`${perSecond.toFixed(1)}/s, refused ${JSON.stringify(failed)}`)
    await untilIdle(stage, writer)
  }
  const [than, value] = [quiet, loaded].map((some) => medianOf(some.map(({ p99Ms }) => p99Ms))) as [number, number]
  const { seconds: total, service, database } = sumOf(costs)
  const share = (some: number) => `${Math.round((some / total) * 100)} % of a processor`
  const reason = `service ${share(service)}, database ${share(database)}`
  report({ name: `${kind}: p99`, value, unit: 'ms', than: { quiet: than }, reason })
  return { ratio: value / than, reason }
}

/** Cancels the lists that wait, and waits until nothing is left to be done. */
async function untilIdle(stage: Stage, { headers: { authorization } }: Company): Promise<void> {
  const url = `${stage.url}/public/v1/contacts/imports`
  const lists: { id: number }[] = Object(await call(url, 'GET', undefined, authorization)).data
  for (const { id } of lists) await call(`${url}/${id}`, 'DELETE', undefined, authorization).catch(() => {})
  await untilNone(stage, `select from emails where status = 'pending'`)
  await untilNone(stage, `select from contact_imports where status in ('queued', 'running')`)
}

async function fill({ load, url }: Stage, { headers }: Company, contacts: number): Promise<void> {
  const one = (i: number) => ({ email: `person{n}-${i}@example.com`, firstName: 'Ada', lastName: `Lovelace ${i}` })
  const order = { url, method: 'POST', path: '/public/v1/contacts', headers, body: arrayOf(MOST_AT_ONCE, one) } as const
  await load.run({ ...order, concurrency: 1, requests: contacts / MOST_AT_ONCE })
}
