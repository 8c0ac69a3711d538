import { setTimeout as sleep } from 'node:timers/promises'
import { medianOf } from '../average.ts'
import { benchOf, type Context } from '../bench.ts'
import { type Cost, costOf, sumOf } from '../cost.ts'
import type { Load, LoadOrder } from '../load.ts'
import { type Company, call, type Stage, untilNone } from '../stage.ts'
import { fillContacts } from './fill.ts'

/** The other company's p99 may be so many times its quiet one. */
const GOAL = 3
/** The load runs for so long before the other company's requests are counted. */
const LEAD_MS = 500

type Play = Context & {
  stage: Stage
  /** Reads: has 20,000 contacts with these ids, and nothing adds to them. */
  reader: Company
  ids: string[]
  /** Writes. */
  writer: Company
  /** The load process of the other company, and its requests: the first page of its contacts, one at a time. */
  otherLoad: Load
  page: LoadOrder
}

/** `reads`: by the company that reads, of its contacts unless `choices` says otherwise. */
type Kind = Partial<LoadOrder> & { path: string; inFlight: number; reads?: true; type?: string }

const arrayOf = (length: number, one: (i: number) => object) => JSON.stringify(Array.from({ length }, (_, i) => one(i)))
const own = (i: number) => ({ email: `array{n}-${i}@example.com`, firstName: 'Ada' })
const shared = (i: number) => ({ email: `shared${i % 2}@example.com`, phone: '+393310000000', firstName: `Ada ${i}` })
const CSV = `email\r\n${Array.from({ length: 100_000 }, (_, i) => `row{n}-${i}@example.com`).join('\r\n')}\r\n`
const MAIL = JSON.stringify({ to: 'reader-{n}@example.com', subject: 'Order {n}', html: '<p>{n}</p>' })
const SEND = JSON.stringify({ recipient: '{phone}', type: 'template', template: { name: 'shipping_notice' } })
const TEXTS = ['lovelace', 'example', 'ace%2019', 'zzz']

/** Each kind of work at full load. */
const KINDS: Record<string, Kind> = {
  'arrays of 100 contacts': { path: '/contacts', inFlight: 40, body: arrayOf(100, own) },
  'arrays of 1,000 contacts that share one phone': { path: '/contacts', inFlight: 12, body: arrayOf(1_000, shared) },
  'single contacts': { path: '/contacts', inFlight: 64, body: '{"email":"one{n}@example.com"}' },
  'imports of 100,000 rows': { path: '/contacts/import', inFlight: 1, body: CSV, type: 'text/csv', status: 202 },
  'exports of 20,000 contacts': { path: '/contacts/export', inFlight: 8, reads: true },
  searches: { path: '/contacts?search={choice}', inFlight: 40, reads: true, choices: TEXTS },
  mails: { path: '/emails', inFlight: 40, body: MAIL, status: 201 },
  sends: { path: '/templates/whatsapp/send', inFlight: 64, body: SEND, phones: 1_000_000 },
  'archives of a contact': { path: '/contacts/{choice}/archive', inFlight: 8, reads: true },
  'erasures of a contact': { path: '/contacts/{choice}?erase=true', inFlight: 8, reads: true, method: 'DELETE' },
}

function orderOf({ stage, reader, writer, ids }: Play, kind: Kind): LoadOrder {
  const { inFlight: concurrency, reads, path, type = 'application/json', ...order } = kind
  const { authorization = '' } = (reads ? reader : writer).headers
  const headers = { authorization, ...(order.body !== undefined && { 'content-type': type }) }
  const method = order.body === undefined ? 'GET' : 'POST'
  return { url: stage.url, path: `/public/v1${path}`, headers, method, concurrency, choices: ids, ...order }
}

/**
 * One company at full load by each kind of work; another company's reads meanwhile, alternately with its reads while
 * nothing else runs.
 */
export const fairnessBench = benchOf<Play>(
  async (context) => {
    const stage = await context.setStage()
    const [reader, writer] = [await stage.createCompany(0), await stage.createCompany(1)]
    const other = await stage.createCompany(0)
    const settings = { from: 'shop@example.org', fromName: 'Shop' }
    await stage.operator('PUT', `/companies/${writer.companyId}/email-settings`, settings)
    await fillContacts(stage, reader, 20_000)
    await fillContacts(stage, other, 1_000)
    const contacts = await stage.db<{ id: number }[]>`select id from contacts where company_id = ${reader.companyId}`
    const ids = contacts.map(({ id }) => String(id))
    const page = { url: stage.url, path: '/public/v1/contacts?limit=25', headers: other.headers, concurrency: 1 }
    const otherLoad = stage.startOtherLoad()
    await otherLoad.run({ ...page, seconds: 2 })
    return { ...context, stage, reader, ids, writer, otherLoad, page }
  },
  Object.fromEntries(
    Object.entries(KINDS).map(([name, kind]) => [name, (play: Play) => measure(play, name, orderOf(play, kind))]),
  ),
)

/** Quiet and under the load, alternately; of each the median of the rounds, since a shared machine has outliers. */
async function measure(play: Play, kind: string, order: LoadOrder): Promise<void> {
  const { report, say, quick, stage, writer, otherLoad, page } = play
  const seconds = 1.5
  const read = () => otherLoad.run({ ...page, seconds })
  const [quiet, loaded, costs]: [number[], number[], Cost[]] = [[], [], []]
  for (let round = 0; round < (quick ? 1 : 3); round += 1) {
    quiet.push((await read()).p99Ms)
    const full = stage.load.run({ ...order, tolerant: true, seconds: seconds + LEAD_MS / 1_000 })
    await sleep(LEAD_MS)
    const [{ p99Ms }, cost] = await costOf(stage, read)
    loaded.push(p99Ms)
    costs.push(cost)
    const { perSecond, failed } = await full
    say(`${perSecond.toFixed(1)}/s, refused ${JSON.stringify(failed)}`)
    await untilIdle(stage, writer)
  }
  const { seconds: total, service, database } = sumOf(costs)
  const share = (some: number) => `${Math.round((some / total) * 100)} % of a processor`
  const goal = { atMost: GOAL, reason: `service ${share(service)}, database ${share(database)}` }
  report({ name: `${kind}: p99`, value: medianOf(loaded), unit: 'ms', than: { quiet: medianOf(quiet) }, ...goal })
}

/** Cancels the lists that wait, and waits until nothing is left to be done. */
async function untilIdle(stage: Stage, { headers: { authorization } }: Company): Promise<void> {
  const url = `${stage.url}/public/v1/contacts/imports`
  const lists: { id: number }[] = Object(await call(url, 'GET', undefined, authorization)).data
  for (const { id } of lists) await call(`${url}/${id}`, 'DELETE', undefined, authorization).catch(() => {})
  await untilNone(stage, `select from emails where status = 'pending'`)
  await untilNone(stage, `select from contact_imports where status in ('queued', 'running')`)
}
