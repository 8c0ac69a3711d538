import { setTimeout as sleep } from 'node:timers/promises'
import { MAX_CONNECTIONS } from '../../src/mailers/mailer.ts'
import { quantileOf } from '../average.ts'
import { type Bench, type BenchContext, benchOf } from '../bench.ts'
import { costOf } from '../cost.ts'
import { check } from '../figure.ts'
import { compareWithInserts } from '../inserts.ts'
import { type LoadOrder, requireCleanReport } from '../load.ts'
import { type Contender, compareWithPeer, peersAreInstalled } from '../peers/compare.ts'
import { type Company, numberOf, type Stage } from '../stage.ts'

const CONCURRENCY = 64
/** Readers of a newsletter come all at once. */
const READERS = 256
/** In one turn. */
const MAILS = 3_000
const TRACKED = 1_000
const LINKS = 5
/** A fetch within three seconds of the sending counts as a machine's. */
const IDLE_AFTER_MS = 3_500

type Play = { context: BenchContext; stage: Stage; company: Company }
type Mail = { to: string; html: string; at: string }

/** Mails accepted and sent, compared with the peer; opened and clicked, compared with a server that inserts each. */
export const emailBench: Bench = benchOf(
  async (context, stage) => {
    const company = await stage.createCompany(0)
    const settings = { from: 'shop@example.org', fromName: 'Shop' }
    await stage.operator('PUT', `/companies/${company.companyId}/email-settings`, settings)
    return { context, stage, company }
  },
  { peers: measurePeer, tracking: measureTracking },
)

const orderOf = ({ stage, company }: Play): LoadOrder => ({
  url: stage.url,
  method: 'POST',
  path: '/public/v1/emails',
  headers: company.headers,
  body: JSON.stringify({ to: 't{at}-{n}@example.com', subject: 'Order {n}', html: newsletter('{n}') }),
  concurrency: CONCURRENCY,
  status: 201,
})

/** From the first post until the last mail has arrived; at half load from each post until its mail has arrived. */
async function measurePeer(play: Play): Promise<void> {
  const { context, stage } = play
  if (!peersAreInstalled(context)) return
  const peer = await stage.start('bench/peers/mail.ts', [stage.databaseUrl, stage.smtpUrl, String(MAX_CONNECTIONS)])
  const isPeerDone = async () => (await (await fetch(`${peer.address}/left`)).json()) === 0
  const toPeer = { ...orderOf(play), url: peer.address, path: '/' }
  let [lost, doubled] = [0, 0]
  const contender = (name: string, order: LoadOrder, untilDone: () => Promise<void>, pids?: number[]): Contender => {
    const send = async (amount: Partial<LoadOrder>) => {
      await emptyMailbox(stage)
      const posted = requireCleanReport(name, await stage.load.run({ ...order, ...amount }))
      await untilDone()
      const mails = await mailsOf(stage, posted.answered)
      const readers = new Set(mails.map(({ to }) => to))
      if (name === 'Parley') {
        lost += posted.answered - readers.size
        doubled += mails.length - readers.size
      }
      return { posted, mails }
    }
    return {
      name,
      full: async () => {
        const requests = context.quick ? MAILS / 2 : MAILS
        const [{ posted, mails }, cost] = await costOf(stage, () => send({ requests }), pids)
        const lastAtMs = Math.max(...mails.map(({ at }) => Date.parse(at)))
        const perSecond = posted.answered / ((lastAtMs - posted.startedAtMs) / 1_000)
        return { count: posted.answered, perSecond, cost }
      },
      half: async (perSecond, seconds) => {
        const { mails } = await send({ perSecond, seconds })
        const times = mails.map(({ to, at }) => Date.parse(at) - Number(/^t([0-9.]+)-/.exec(to)?.[1]))
        return quantileOf(times, 0.99)
      },
    }
  }
  const untilPeerDone = async () => {
    while (!(await isPeerDone())) await sleep(50)
  }
  const other = contender('pg-boss and nodemailer', toPeer, untilPeerDone, [peer.pid])
  await compareWithPeer(
    context,
    'mails/s',
    contender('Parley', orderOf(play), () => waitForEnd(stage)),
    other,
  )
  context.report(check('mails that did not arrive', lost, 'mails'))
  context.report(check('mails that arrived twice', doubled, 'mails'))
  await peer.stop()
}

/** Mails of a template to so many readers, sent to their end. */
async function sendTracked(play: Play): Promise<Mail[]> {
  const { stage, company } = play
  const template = { name: 'Order', subject: 'Order {{ order }}', html: newsletter('{{ order }}') }
  const created = await stage.operator('POST', `/companies/${company.companyId}/email-templates`, template)
  const { id: uid } = created as { id: string }
  await emptyMailbox(stage)
  const body = JSON.stringify({ uid, recipient: 'tracked-{n}@example.com', customFields: { order: '17' } })
  const order = { ...orderOf(play), path: '/public/v1/templates/email/send', body, status: 200, requests: TRACKED }
  requireCleanReport('mails of a template', await stage.load.run(order))
  await waitForEnd(stage)
  await sleep(IDLE_AFTER_MS)
  return mailsOf(stage, TRACKED)
}

const pathsOf = (html: string, kind: 'o' | 'c'): string[] =>
  [...html.matchAll(/(?:href|src)="http:\/\/[^/]+(\/public\/v1\/[oc]\/[^"]+)"/g)]
    .map(([, path]) => path ?? '')
    .filter((path) => path.includes(`/${kind}/`))

/** Readers open and click. */
async function measureTracking(play: Play): Promise<void> {
  const { context, stage, company } = play
  const server = await stage.start('bench/baseline.ts', [stage.databaseUrl])
  const mails = await sendTracked(play)
  const pixels = mails.flatMap(({ html }) => pathsOf(html, 'o'))
  const links = mails.flatMap(({ html }) => pathsOf(html, 'c'))
  if (pixels.length !== TRACKED || links.length !== TRACKED * LINKS) throw new Error('Some mails are not tracked')
  const headers = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' }
  const insert = { url: server.address, path: '/0123456789abcdef', headers, concurrency: READERS, status: 302 }
  const fetches = { ...insert, url: stage.url, path: '{choice}' }
  const opens = await compareWithInserts(
    play,
    { name: 'opens', unit: 'fetches/s', insert, service: { ...fetches, choices: pixels, status: 200 } },
    { atLeast: 1, p99AtMost: 1 },
  )
  const clicks = await compareWithInserts(
    play,
    { name: 'clicks', unit: 'fetches/s', insert, service: { ...fetches, choices: links } },
    { atLeast: 1, p99AtMost: 1 },
  )
  const [counted] = await stage.db<[{ opens: number; clicks: number }]>`
    select sum(open_count)::int as opens, sum(click_count)::int as clicks
    from emails
    where company_id = ${company.companyId}
  `
  const lost = Math.abs(opens - counted.opens) + Math.abs(clicks - counted.clicks)
  context.report(check('opens and clicks answered and not counted, or counted twice', lost, ''))
}

const emptyMailbox = ({ sandboxUrl }: Stage) => fetch(`${sandboxUrl}/sandbox/reset`, { method: 'POST' })

/** The mails at the mail server. */
const mailsOf = async ({ sandboxUrl }: Stage, count: number): Promise<Mail[]> =>
  (await (await fetch(`${sandboxUrl}/sandbox/emails?limit=${count * 2}`)).json()) as Mail[]

/** The end of the queue, seen from outside as often as costs nothing. */
async function waitForEnd({ db }: Stage): Promise<void> {
  const isWaiting = () =>
    numberOf(db<{ value: number }[]>`
      select exists (select from jobs where kind = 'email.send')::int as value
    `)
  while ((await isWaiting()) > 0) await sleep(50)
}

/** A mail of the usual kind, no two of them alike: tables, conditionals for Outlook, five links; about 5 kB. */
function newsletter(order: string): string {
  const rows = Array.from({ length: LINKS }, (_, place) => {
    const href = `https://shop.example/orders/${order}?step=${place + 1}&amp;utm_source=mail`
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
