import { setTimeout as sleep } from 'node:timers/promises'
import { MAX_CONNECTIONS } from '../../src/mailers/mailer.ts'
import { quantileOf } from '../average.ts'
import { benchOf, type Context } from '../bench.ts'
import { type Contender, compare } from '../compare.ts'
import { check } from '../figure.ts'
import type { LoadOrder } from '../load.ts'
import { peersAreInstalled } from '../peers/install.ts'
import { type Company, type Stage, untilNone } from '../stage.ts'

const TRACKED = 1_000
const LINKS = 5
/** A fetch within three seconds of the sending counts as a machine's. */
const IDLE_AFTER_MS = 3_500

type Play = Context & { stage: Stage; company: Company }
type Mail = { to: string; html: string; at: string }

/** Mails accepted and sent, compared with the peer; opened and clicked, compared with a server that inserts each. */
export const emailBench = benchOf<Play>(
  async (context) => {
    const stage = await context.setStage()
    const company = await stage.createCompany(0)
    const settings = { from: 'shop@example.org', fromName: 'Shop' }
    await stage.operator('PUT', `/companies/${company.companyId}/email-settings`, settings)
    return { ...context, stage, company }
  },
  { peers: measurePeer, tracking: measureTracking },
)

const orderOf = ({ stage, company }: Play): LoadOrder => ({
  url: stage.url,
  method: 'POST',
  path: '/public/v1/emails',
  headers: company.headers,
  body: JSON.stringify({ to: 't{at}-{n}@example.com', subject: 'Order {n}', html: newsletter('{n}') }),
  status: 201,
})

const untilSent = (stage: Stage) => untilNone(stage, `select from jobs where kind = 'email.send'`)

/** From the first post until the last mail has arrived; the p99 from each post until its mail has arrived. */
async function measurePeer(play: Play): Promise<void> {
  const { report, stage } = play
  if (!peersAreInstalled(play)) return
  const peer = await stage.start('bench/peers/mail.ts', [stage.databaseUrl, stage.smtpUrl, String(MAX_CONNECTIONS)])
  const isPeerDone = async () => (await (await fetch(`${peer.address}/left`)).json()) === 0
  const untilPeerDone = async () => {
    while (!(await isPeerDone())) await sleep(50)
  }
  const faults = { lost: 0, doubled: 0 }
  const contender = (
    order: LoadOrder,
    untilDone: () => Promise<void>,
    counted = { lost: 0, doubled: 0 },
  ): Contender => ({
    run: async (load) => {
      await emptyMailbox(stage)
      const { count, startedAtMs } = await stage.load.run({ ...order, ...load })
      await untilDone()
      const mails = await mailsOf(stage, count)
      const readers = new Set(mails.map(({ to }) => to))
      counted.lost += count - readers.size
      counted.doubled += mails.length - readers.size
      const lastAtMs = Math.max(...mails.map(({ at }) => Date.parse(at)))
      const times = mails.map(({ to, at }) => Date.parse(at) - Number(/^t([0-9.]+)-/.exec(to)?.[1]))
      return { count, perSecond: count / ((lastAtMs - startedAtMs) / 1_000), p99Ms: quantileOf(times, 0.99) }
    },
  })
  const other = contender({ ...orderOf(play), url: peer.address, path: '/' }, untilPeerDone)
  const parley = contender(orderOf(play), () => untilSent(stage), faults)
  await compare(play, { stage, name: 'mails' }, parley, { 'pg-boss': { ...other, pids: [peer.pid] } })
  report(check('mails that did not arrive', faults.lost))
  report(check('mails that arrived twice', faults.doubled))
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
  const path = '/public/v1/templates/email/send'
  await stage.load.run({ ...orderOf(play), path, body, status: 200, requests: TRACKED })
  await untilSent(stage)
  await sleep(IDLE_AFTER_MS)
  return mailsOf(stage, TRACKED)
}

const pathsOf = (html: string, kind: 'o' | 'c'): string[] =>
  [...html.matchAll(/(?:href|src)="http:\/\/[^/]+(\/public\/v1\/[oc]\/[^"]+)"/g)]
    .map(([, path]) => path ?? '')
    .filter((path) => path.includes(`/${kind}/`))

/** Readers open and click. */
async function measureTracking(play: Play): Promise<void> {
  const { report, stage, company } = play
  if (!peersAreInstalled(play)) return
  const server = await stage.start('bench/peers/insert.ts', [stage.databaseUrl])
  const mails = await sendTracked(play)
  const headers = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' }
  const insert: LoadOrder = { url: server.address, path: '/0123456789abcdef', headers, status: 302 }
  const peer = { pids: [server.pid], run: (load: Partial<LoadOrder>) => stage.load.run({ ...insert, ...load }) }
  const answered: number[] = []
  for (const [name, kind, status, each] of [
    ['opens', 'o', 200, 1],
    ['clicks', 'c', 302, LINKS],
  ] as const) {
    const choices = mails.flatMap(({ html }) => pathsOf(html, kind))
    if (choices.length !== TRACKED * each) throw new Error('Some mails are not tracked')
    const order = { ...insert, url: stage.url, path: '{choice}', choices, status }
    const run = async (load: Partial<LoadOrder>) => {
      const done = await stage.load.run({ ...order, ...load })
      answered.push(done.count)
      return done
    }
    await compare(play, { stage, name }, { run }, { 'an insert each': peer })
  }
  const [counted] = await stage.db<[{ count: number }]>`
    select sum(open_count + click_count)::int as count from emails where company_id = ${company.companyId}
  `
  const lost = Math.abs(answered.reduce((sum, count) => sum + count, 0) - counted.count)
  report(check('opens and clicks answered and not counted, or counted twice', lost))
  await server.stop()
}

const emptyMailbox = ({ sandboxUrl }: Stage) => fetch(`${sandboxUrl}/sandbox/reset`, { method: 'POST' })

/** The mails at the mail server. */
const mailsOf = async ({ sandboxUrl }: Stage, count: number): Promise<Mail[]> =>
  (await (await fetch(`${sandboxUrl}/sandbox/emails?limit=${count * 2}`)).json()) as Mail[]

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
