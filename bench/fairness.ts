import type { Bench, BenchContext } from './bench.ts'
import { ratioFigure } from './figure.ts'
import { insistOnClean, joinReports, type Load, type LoadOrder, type LoadReport, startLoad } from './load.ts'
import { type Company, onStage, type Stage } from './stage.ts'

const CONTACTS = 20_000
const ARRAY = 100
const MOST_AT_ONCE = 1_000
const IMPORT_ROWS = 100_000
/** The other company's p99 may be so many times its quiet one. */
const GOAL = 3

type Play = { stage: Stage; loud: Company; chosen: number }

/** One company at full load by each kind of work; another company's reads beside it and before and after it. */
export const fairnessBench: Bench = (context) =>
  onStage(async (stage) => {
    const loud = await stage.createCompany(1)
    const other = await stage.createCompany(0)
    const settings = { from: 'shop@example.org', fromName: 'Shop' }
    await stage.operator('PUT', `/companies/${loud.companyId}/email-settings`, settings)
    await fill(stage, loud, CONTACTS)
    await fill(stage, other, 1_000)
    await stage.db`vacuum analyze`
    const [one] = await stage.db<
      { id: number }[]
    >`select min(id) as id from contacts where company_id = ${loud.companyId}`
    const otherLoad = startLoad()
    const read = (seconds: number) => readAs(otherLoad, stage, other, seconds)
    await read(2)
    try {
      for (const [kind, start] of Object.entries(KINDS)) {
        await compare(context, kind, read, (seconds) => start({ stage, loud, chosen: one?.id ?? 0 }, seconds))
      }
    } finally {
      await otherLoad.stop()
    }
  })

/** Each kind of work at full load for so many seconds; resolves when it is over. */
const KINDS: Record<string, (play: Play, seconds: number) => Promise<LoadReport>> = {
  'arrays of 100 contacts, 40 in flight': (play, seconds) => {
    const items = Array.from({ length: ARRAY }, (_, i) => `{"email":"array{n}-${i}@example.com","firstName":"Ada"}`)
    return post(play, '/contacts', `[${items.join()}]`, { concurrency: 40, seconds })
  },
  [`imports of ${IMPORT_ROWS.toLocaleString('en-US')} rows, 1 in flight`]: (play, seconds) => {
    const rows = Array.from({ length: IMPORT_ROWS }, (_, i) => `row{n}-${i}@example.com,Ada`)
    const headers = { ...play.loud.headers, 'content-type': 'text/csv' }
    const body = `email,first_name\r\n${rows.join('\r\n')}\r\n`
    return post(play, '/contacts/import', body, { headers, concurrency: 1, seconds, status: 202 })
  },
  'exports of 20,000 contacts, 8 in flight': (play, seconds) =>
    get(play, '/contacts/export', { concurrency: 8, seconds }),
  'searches, 40 in flight': (play, seconds) =>
    get(play, '/contacts?search={choice}', {
      choices: ['lovelace', 'example', 'ace%2019', 'zzz'],
      concurrency: 40,
      seconds,
    }),
  'mails, 40 in flight': (play, seconds) => {
    const body = JSON.stringify({ to: 'reader-{n}@example.com', subject: 'Order {n}', html: '<p>{n}</p>' })
    return post(play, '/emails', body, { concurrency: 40, seconds, status: 201 })
  },
  'sends, 64 in flight': (play, seconds) => {
    const body = JSON.stringify({ recipient: '{phone}', type: 'template', template: { name: 'shipping_notice' } })
    return post(play, '/templates/whatsapp/send', body, { phones: 1_000_000, concurrency: 64, seconds })
  },
  'archives of a contact, 8 in flight': (play, seconds) =>
    get(play, `/contacts/${play.chosen}/archive`, { concurrency: 8, seconds }),
}

type Amount = Pick<LoadOrder, 'concurrency' | 'seconds' | 'headers' | 'status' | 'phones' | 'choices'>

const get = ({ stage, loud }: Play, path: string, amount: Amount) =>
  stage.load.run({ url: stage.url, method: 'GET', path: `/public/v1${path}`, headers: loud.headers, ...amount })

const post = ({ stage, loud }: Play, path: string, body: string, amount: Amount) =>
  stage.load.run({ url: stage.url, method: 'POST', path: `/public/v1${path}`, headers: loud.headers, body, ...amount })

const readAs = (load: Load, { url }: Stage, { headers }: Company, seconds: number) =>
  load.run({ url, method: 'GET', path: '/public/v1/contacts?limit=25', headers, concurrency: 1, seconds })

async function compare(
  { report, say, quick }: BenchContext,
  kind: string,
  read: (seconds: number) => Promise<LoadReport>,
  start: (seconds: number) => Promise<LoadReport>,
): Promise<void> {
  const seconds = quick ? 3 : 8
  const quiet = [await read(seconds)]
  const full = start(seconds + 1)
  const beside = await read(seconds)
  const loud = await full
  quiet.push(await read(seconds))
  const { p99Ms, p50Ms, failed } = joinReports(quiet)
  const rate = `${Math.round(loud.perSecond)}/s of it, refused ${JSON.stringify(loud.failed)}`
  say(`${kind}: ${rate}; the other's p50 ${beside.p50Ms.toFixed(1)} ms, quiet ${p50Ms.toFixed(1)} ms`)
  if (loud.answered === 0 && loud.failed['404'] !== undefined) return
  const refused = { ...failed, ...beside.failed }
  if (Object.keys(refused).length > 0) throw new Error(`${kind}: the other was refused ${JSON.stringify(refused)}`)
  const baseline = { baseline: 'the same when quiet', baselineValue: p99Ms }
  report(ratioFigure(`${kind}: another company's GET, p99`, beside.p99Ms, 'ms', baseline, { atMost: GOAL }))
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
  insistOnClean('contacts to begin with', filled)
}
