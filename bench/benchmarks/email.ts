import { setTimeout as sleep } from 'node:timers/promises'
import { MAX_CONNECTIONS } from '../../src/mailers/mailer.ts'
import { quantileOf } from '../average.ts'
import { benchOf, type Context } from '../bench.ts'
import { type Contender, compare } from '../compare.ts'
import type { LoadOrder } from '../load.ts'
import { startPeer } from '../peers/install.ts'
import { type Stage, untilNone } from '../stage.ts'

const LINKS = 5

type Play = Context & { stage: Stage; order: LoadOrder }
type Mail = { to: string; at: string }

/** Mails accepted and sent, compared with the peer. */
export const emailBench = benchOf<Play>(
  async (context) => {
    const stage = await context.setStage()
    const { companyId, headers } = await stage.createCompany(0)
    const settings = { from: 'shop@example.org', fromName: 'Shop' }
    await stage.operator('PUT', `/companies/${companyId}/email-settings`, settings)
    const body = JSON.stringify({ to: 't{at}-{n}@example.com', subject: 'Order {n}', html: newsletter('{n}') })
    const order = { url: stage.url, method: 'POST', path: '/public/v1/emails', headers, body, status: 201 } as const
    return { ...context, stage, order }
  },
  { peers: measurePeer },
)

/** From the first post until the last mail has arrived; the p99 from each post until its mail has arrived. */
async function measurePeer(play: Play): Promise<void> {
  const { stage, order } = play
  const peer = await startPeer(play, stage, 'mail', stage.smtpUrl, String(MAX_CONNECTIONS))
  if (peer === undefined) return
  const left = async () => (await fetch(`${peer.address}/left`)).json()
  const untilPeerDone = async () => {
    while ((await left()) !== 0) await sleep(50)
  }
  const run = async (load: LoadOrder, untilDone: () => Promise<void>) => {
    await fetch(`${stage.sandboxUrl}/sandbox/reset`, { method: 'POST' })
    const { count, startedAtMs } = await stage.load.run(load)
    await untilDone()
    const mails = (await (await fetch(`${stage.sandboxUrl}/sandbox/emails?limit=${count * 2}`)).json()) as Mail[]
    const readers = new Set(mails.map(({ to }) => to)).size
    if (readers !== count || mails.length !== count) throw new Error(`${mails.length} mails to ${readers} of ${count}`)
    const lastAtMs = Math.max(...mails.map(({ at }) => Date.parse(at)))
    const times = mails.map(({ to, at }) => Date.parse(at) - Number(/^t([0-9.]+)-/.exec(to)?.[1]))
    return { count, perSecond: (count * 1_000) / (lastAtMs - startedAtMs), p99Ms: quantileOf(times, 0.99) }
  }
  const untilSent = () => untilNone(stage, `select from jobs where kind = 'email.send'`)
  const parley: Contender = { stage, run: (load) => run({ ...order, ...load }, untilSent) }
  const toPeer = { ...order, url: peer.address, path: '/' }
  const other: Contender = { stage, pids: [peer.pid], run: (load) => run({ ...toPeer, ...load }, untilPeerDone) }
  await compare(play, { name: 'mails' }, parley, { 'pg-boss': other })
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
