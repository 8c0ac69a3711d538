import { setTimeout as sleep } from 'node:timers/promises'
import { MAX_CONNECTIONS } from '../src/mailers/mailer.ts'
import { meanOf } from './average.ts'
import type { Bench, BenchContext } from './bench.ts'
import { figure, ratioFigure } from './figure.ts'
import { joinReports, type LoadOrder, type LoadReport, requireCleanReport } from './load.ts'
import { cpuSeconds, type Program } from './process.ts'
import { milliseconds, perItem } from './processor-time.ts'
import { type Company, onStage, type Stage } from './stage.ts'

const CONCURRENCY = 64
/** Readers of a newsletter come all at once. */
const READERS = 256
/** Fewer than the sandbox keeps; the first of them warm the worker up, as those before warmed the library alone. */
const BACKLOG = 8_000
const WARM_UP = 2_000
const TRACKED = 1_000
const LINKS = 5
/** The service and the bare route alternate, so that other load of the machine affects both. */
const SLICES = 3
/** A fetch within three seconds of the sending counts as a machine's. */
const IDLE_AFTER_MS = 3_500

const GOALS = {
  sent: {
    atLeast: 0.55,
    limitedBy: 'One processor composes and sends: 1.1 ms for a mail, of which the library takes 0.4.',
  },
  tracked: {
    atLeast: 0.5,
    limitedBy: 'Each is stored before its answer: 0.07 ms in the service and 0.03 ms in PostgreSQL.',
  },
}

type Play = { context: BenchContext; stage: Stage; company: Company; route: Program; mailer: Program }
type Mail = { to: string; html: string }
/** The requests made, to be compared with the service's statistics. */
type Asked = { opens: number; clicks: number }

/** Mails taken in, sent, opened and clicked, beside the libraries alone. */
export const emailBench: Bench = (context) =>
  onStage(async (stage) => {
    const company = await stage.createCompany(0)
    const route = await stage.start('bench/baseline.ts', ['bare'])
    const mailer = await stage.start('bench/bare-mailer.ts', [stage.smtpUrl, String(MAX_CONNECTIONS)])
    const play = { context, stage, company, route, mailer }
    const uid = await createMailing(play)

    context.say('warming up')
    await stage.load.run({ ...oneShot(play), concurrency: CONCURRENCY, requests: 500 })
    await waitForEnd(stage)
    await sendBare(play, 500)
    const rates: Rates[] = []
    for (let round = 0; round < (context.quick ? 1 : 4); round += 1) rates.push(await measureSending(play))
    const alone = { baseline: 'bare nodemailer', baselineValue: meanOf(rates.map(({ bare }) => bare)) }
    const sentPerSecond = meanOf(rates.map(({ service }) => service))
    context.report(ratioFigure('sent from a waiting queue', sentPerSecond, 'mails/s', alone, GOALS.sent))

    await stage.restart()
    const { mails, sent } = await sendTracked(play, uid)
    const asked = await measureTracking(play, mails)
    await checkStatistics(play, sent, asked)
  })

async function createMailing({ stage, company: { companyId } }: Play): Promise<string> {
  await stage.operator('PUT', `/companies/${companyId}/email-settings`, { from: 'shop@example.org', fromName: 'Shop' })
  const template = { name: 'Order', subject: 'Order {{ order }}', html: newsletter('{{ order }}') }
  return ((await stage.operator('POST', `/companies/${companyId}/email-templates`, template)) as { id: string }).id
}

const oneShot = ({ stage, company }: Play): Omit<LoadOrder, 'concurrency'> => ({
  url: stage.url,
  method: 'POST',
  path: '/public/v1/emails',
  headers: company.headers,
  body: JSON.stringify({ to: 'reader-{n}@example.com', subject: 'Order {n}', html: newsletter('{n}') }),
  status: 201,
  fits: '"id":"(eml_[A-Za-z0-9]{24})"',
})

/** Mails per second. */
type Rates = { service: number; bare: number }

/** A queue is taken in while nothing sends, then sent while nothing is taken in, the library alone before and after. */
async function measureSending(play: Play): Promise<Rates> {
  const { context, stage } = play
  const { say, report } = context
  await stage.restart({ ROLE: 'api' })
  await emptyMailbox(stage)
  const bareOrder = { ...oneShot(play), url: play.route.address, path: '/', status: 200, fits: 'true' }
  const route = [await stage.load.run({ ...bareOrder, concurrency: CONCURRENCY, seconds: 1 })]
  const before = await stage.cpu()
  const accepted = await stage.load.run({ ...oneShot(play), concurrency: CONCURRENCY, requests: BACKLOG })
  const after = await stage.cpu()
  requireCleanReport('emails', accepted)
  say(`processor time per accepted mail: ${perItem(before, after, BACKLOG)}`)
  route.push(await stage.load.run({ ...bareOrder, concurrency: CONCURRENCY, seconds: 1 }))
  const beside = { baseline: 'bare Fastify route', baselineValue: joinReports(route).perSecond }
  report(ratioFigure('accepted, 64 in flight', accepted.perSecond, 'mails/s', beside))
  report(figure('accepted, p99', accepted.p99Ms, 'ms'))

  const bare = [await sendBare(play, BACKLOG / 2)]
  await emptyMailbox(stage)
  await stage.restart({ ROLE: 'worker' })
  await waitForEnd(stage, BACKLOG - WARM_UP)
  const startedAt = performance.now()
  const cpu = await stage.cpu()
  const waiting = await countWaiting(stage)
  await waitForEnd(stage)
  const seconds = (performance.now() - startedAt) / 1_000
  say(`processor time per sent mail: ${perItem(cpu, await stage.cpu(), waiting)}; ${waiting} waited`)
  await countArrived(play, BACKLOG)
  bare.push(await sendBare(play, BACKLOG / 2))
  say(`sent ${Math.round(waiting / seconds)} mails/s; bare nodemailer: ${bare.map(Math.round)}`)
  return { service: waiting / seconds, bare: meanOf(bare) }
}

/** The library alone, with the same mail to the same server over as many connections; answers mails per second. */
async function sendBare({ context, mailer }: Play, count: number): Promise<number> {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ html: newsletter('17') })
  const before = cpuSeconds(mailer.pid)
  const answer = await fetch(`${mailer.address}/${count}`, { method: 'POST', headers, body })
  const { seconds } = (await answer.json()) as { seconds: number }
  context.say(`processor time per mail: bare nodemailer ${milliseconds((cpuSeconds(mailer.pid) - before) / count)}`)
  return count / seconds
}

/** Mails of a template to so many readers, sent to their end. */
async function sendTracked(play: Play, uid: string): Promise<{ mails: Mail[]; sent: string[] }> {
  const { stage, company } = play
  await emptyMailbox(stage)
  const sent: string[] = []
  const send = async (reader: number) => {
    const body = JSON.stringify({ uid, recipient: `tracked-${reader}@example.com`, customFields: { order: '17' } })
    const answer = await fetch(`${stage.url}/public/v1/templates/email/send`, {
      method: 'POST',
      headers: company.headers,
      body,
    })
    if (!answer.ok) throw new Error(`Sending a template: ${answer.status} ${await answer.text()}`)
    sent.push(((await answer.json()) as { data: { id: string } }).data.id)
  }
  for (let from = 0; from < TRACKED; from += CONCURRENCY) {
    const readers = Array.from({ length: Math.min(CONCURRENCY, TRACKED - from) }, (_, place) => from + place)
    await Promise.all(readers.map(send))
  }
  await waitForEnd(stage)
  const mails = await countArrived(play, TRACKED)
  await sleep(IDLE_AFTER_MS)
  return { mails, sent }
}

const pathsOf = (html: string, kind: 'o' | 'c'): string[] =>
  [...html.matchAll(/(?:href|src)="http:\/\/[^/]+(\/public\/v1\/[oc]\/[^"]+)"/g)]
    .map(([, path]) => path ?? '')
    .filter((path) => path.includes(`/${kind}/`))

/** Readers open and click, alternately with those of a route that redirects and does nothing else. */
async function measureTracking({ context, stage, route }: Play, mails: Mail[]): Promise<Asked> {
  const pixels = mails.flatMap(({ html }) => pathsOf(html, 'o'))
  const links = mails.flatMap(({ html }) => pathsOf(html, 'c'))
  if (pixels.length !== TRACKED || links.length !== TRACKED * LINKS) {
    throw new Error(`${pixels.length} pixels and ${links.length} links in ${mails.length} mails`)
  }
  await checkTargets(stage, links)
  const headers = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' }
  const order = { method: 'GET', headers, seconds: context.quick ? 1 : 4 } as const
  const asked: Asked = { opens: 0, clicks: links.length }

  for (const [what, paths, status, concurrency] of [
    ['opens', pixels, 200, READERS],
    ['clicks', links, 302, READERS],
    ['opens', pixels, 200, CONCURRENCY],
    ['clicks', links, 302, CONCURRENCY],
  ] as const) {
    const bare = { ...order, concurrency, url: route.address, path: '/0123456789abcdef', status: 302 }
    const tracked = { ...order, concurrency, url: stage.url, path: '{choice}', choices: paths, status }
    // Each at least once, for the rates at the end.
    const warmUp = await stage.load.run({ ...tracked, requests: Math.max(paths.length, 4_000) })
    const [redirects, reports] = [[await stage.load.run(bare)], [] as LoadReport[]]
    const before = await stage.cpu()
    const bareBefore = cpuSeconds(route.pid)
    for (let slice = 0; slice < SLICES; slice += 1) {
      reports.push(await stage.load.run(tracked))
      redirects.push(await stage.load.run(bare))
    }
    const fetches = joinReports(reports)
    const redirected = redirects.slice(1).reduce((sum, { answered }) => sum + answered, 0)
    const bareTime = milliseconds((cpuSeconds(route.pid) - bareBefore) / redirected)
    context.say(
      `processor time per fetch: ${perItem(before, await stage.cpu(), fetches.answered)}, bare redirect ${bareTime}`,
    )
    requireCleanReport(what, fetches)
    asked[what] += warmUp.answered + fetches.answered
    const beside = { baseline: 'bare redirect', baselineValue: joinReports(redirects).perSecond }
    const goal = concurrency === READERS ? GOALS.tracked : undefined
    context.report(ratioFigure(`${what}, ${concurrency} in flight`, fetches.perSecond, 'fetches/s', beside, goal))
    context.report(figure(`${what}, ${concurrency} in flight, p99`, fetches.p99Ms, 'ms'))
  }
  return asked
}

/** Every link once: it leads where it led before it was tracked. */
async function checkTargets({ url }: Stage, links: string[]): Promise<void> {
  for (const [place, path] of links.entries()) {
    const headers = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/140.0' }
    const answer = await fetch(`${url}${path}`, { redirect: 'manual', headers })
    const target = targetOf('17', (place % LINKS) + 1)
    if (answer.headers.get('location') !== target) throw new Error(`A link leads not to ${target} (${answer.status})`)
  }
}

type Stats = { status: string; opened: boolean; clickCount: number; suspectedMachine: { clicks: number } }

/** The statistics, beside the fetches made. */
async function checkStatistics({ context, stage, company }: Play, sent: string[], asked: Asked): Promise<void> {
  const { report } = context
  const read = async <T>(path: string): Promise<T> => {
    const answer = await fetch(`${stage.url}/public/v1${path}`, { headers: company.headers })
    return ((await answer.json()) as { data: T }).data
  }
  const stats: Stats[] = []
  for (const id of sent) stats.push(await read<Stats>(`/emails/${id}/stats`))
  const clicks = stats.reduce((sum, { clickCount }) => sum + clickCount, 0)
  const machines = stats.reduce((sum, { suspectedMachine }) => sum + suspectedMachine.clicks, 0)
  const unseen = stats.filter(({ status, opened }) => status !== 'sent' || !opened).length
  const [row] = await stage.db<{ opens: number; ledger: number; template: number }[]>`
    select
      (select sum(open_count) from emails where company_id = ${company.companyId})::int as opens,
      (select count(*) from email_clicks where company_id = ${company.companyId})::int as ledger,
      (select id from email_templates where company_id = ${company.companyId})::int as template
  `
  if (row === undefined) throw new Error('Nothing was counted')
  const rates = await read<Record<string, unknown>>(`/transactionals/${row.template}/stats`)
  context.say(`the template's statistics: ${JSON.stringify(rates)}`)
  const isWhole = rates.openRate === '100%' && rates.clickRate === '100%' && rates.totalMessagesSent === TRACKED
  report(figure('opens answered and not counted, or counted twice', Math.abs(asked.opens - row.opens), 'opens', NONE))
  report(figure('clicks answered and not counted, or counted twice', Math.abs(asked.clicks - clicks), 'clicks', NONE))
  report(figure('clicks counted and not in the ledger', Math.abs(clicks - row.ledger), 'clicks', NONE))
  report(figure('readers taken for machines', machines, 'clicks', NONE))
  report(figure('statistics that say less than was done', unseen + (isWhole ? 0 : 1), 'records', NONE))
}

const NONE = { atMost: 0 }

const emptyMailbox = ({ sandboxUrl }: Stage) => fetch(`${sandboxUrl}/sandbox/reset`, { method: 'POST' })

/** The mails that arrived at the mail server: each must have arrived once. */
async function countArrived({ context: { report }, stage }: Play, count: number): Promise<Mail[]> {
  const mails = (await (await fetch(`${stage.sandboxUrl}/sandbox/emails?limit=${count * 2}`)).json()) as Mail[]
  const readers = new Set(mails.map(({ to }) => to))
  report(figure(`mails of ${count} that did not arrive`, count - readers.size, 'mails', NONE))
  report(figure(`mails of ${count} that arrived twice`, mails.length - readers.size, 'mails', NONE))
  return mails
}

async function countWaiting({ db }: Stage): Promise<number> {
  const [row] = await db<{ waiting: number }[]>`select count(*)::int as waiting from jobs where kind = 'email.send'`
  return row?.waiting ?? 0
}

/** Waits until so few are left of the queue, seen from outside as often as costs nothing. */
async function waitForEnd({ db }: Stage, left = 0): Promise<void> {
  for (;;) {
    const [row] = await db<{ isOver: boolean }[]>`
      select exists (select from jobs where kind = 'email.send' offset ${left}) as is_over
    `
    if (row?.isOver !== true) return
    await sleep(50)
  }
}

function targetOf(order: string, link: number): string {
  return `https://shop.example/orders/${order}?step=${link}&utm_source=mail`
}

/** A mail of the usual kind, no two of them alike: tables, conditionals for Outlook, five links; about 5 kB. */
function newsletter(order: string): string {
  const rows = Array.from({ length: LINKS }, (_, place) => {
    const href = targetOf(order, place + 1).replaceAll('&', '&amp;')
    return `<tr><td align="center" style="padding:12px 24px;font-family:Helvetica,Arial,sans-serif;font-size:15px;line-height:22px;color:#333333"><p style="margin:0 0 12px">Step ${place + 1}: your order ${order} has been packed with care and is on its way to you. Please keep this mail until it has arrived.</p>
<!--[if mso]><v:roundrect xmlns:v="urn:schemas-microsoft-com:vml" href="${href}" style="height:40px;v-text-anchor:middle;width:200px"><![endif]-->
<a href="${href}" style="background:#0a7cff;border-radius:4px;color:#ffffff;display:inline-block;line-height:40px;text-align:center;text-decoration:none;width:200px">See it</a></td></tr>`
  })
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Your order</title><style>@media (max-width:600px){.all{width:100%!important}}</style></head>
<body style="margin:0;background:#f4f4f4"><table role="presentation" width="100%"><tr><td align="center"><table role="presentation" class="all" width="600">
${rows.join('\n')}
</table></td></tr></table></body></html>`
}
