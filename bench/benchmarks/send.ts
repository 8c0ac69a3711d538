import { setTimeout as sleep } from 'node:timers/promises'
import { PROVIDER_NAMES } from '../../src/providers/provider-name.ts'
import { type Bench, type BenchContext, benchOf } from '../bench.ts'
import { costOf, memoryFigure, reasonOf } from '../cost.ts'
import { check, figure, ratioFigure } from '../figure.ts'
import { type LoadOrder, mediansByTurns, requireCleanReport } from '../load.ts'
import { type Contender, compareWithPeer, peersAreInstalled } from '../peers/compare.ts'
import type { Company, Stage } from '../stage.ts'

const RECIPIENTS = 10_000

type Order = Omit<LoadOrder, 'concurrency'>
type Play = { context: BenchContext; stage: Stage; company: Company; service: Order }

/** Sends through API, database and sandbox, compared with the peer at the same sandbox. */
export const sendBench: Bench = benchOf(
  async (context, stage) => {
    const company = await stage.createCompany()
    await stage.operator('POST', `/companies/${company.companyId}/templates/sync`)
    const service = sendOrder(stage, company)
    await stage.load.run({ ...service, concurrency: 64, seconds: 2 })
    return { context, stage, company, service }
  },
  {
    'round trips': countRoundTrips,
    peers: measurePeer,
    adapters: compareAdapters,
    'slow provider': measureSlow,
    end: checkWritten,
  },
)

const PARAMETERS = [
  { type: 'text', text: 'Ada' },
  { type: 'text', text: '{n}' },
]

/** Sends of an approved template, each to the next of many customers. */
export function sendOrder({ url }: Stage, { headers }: Company): Order {
  const components = [{ type: 'BODY', parameters: PARAMETERS }]
  const template = { name: 'order_update', languageCode: 'en_US', components }
  const body = JSON.stringify({ recipient: '{phone}', type: 'template', template })
  const path = '/public/v1/templates/whatsapp/send'
  return { url, method: 'POST', path, headers, body, phones: RECIPIENTS, fits: '"messageId":([0-9]+),"wamid":"wamid' }
}

/**
 * Each statement of a send is a transaction of its own, so that committed transactions per send are round trips per
 * send; those of an idle service are taken off.
 */
async function countRoundTrips({ context, stage, service }: Play): Promise<void> {
  const seconds = context.quick ? 2 : 4
  const idle = await commitsDuring(stage, () => sleep(seconds * 1_000))
  let sent = 0
  const busy = await commitsDuring(stage, async () => {
    sent = (await stage.load.run({ ...service, concurrency: 1, seconds })).answered
  })
  context.report(figure('database round trips per send, one in flight', (busy - idle) / sent, '', { atMost: 3 }))
}

async function commitsDuring({ db }: Stage, act: () => Promise<unknown>): Promise<number> {
  const read = async () => {
    // Sessions report their statistics at most once a second.
    await sleep(1_500)
    const [row] = await db<{ commits: number }[]>`
      select xact_commit as commits from pg_stat_database where datname = current_database()
    `
    return row?.commits ?? 0
  }
  const before = await read()
  await act()
  return (await read()) - before
}

/** Each send with a key of its own, one at a time and 64 in flight. */
async function measurePeer({ context, stage, company, service }: Play): Promise<void> {
  if (!peersAreInstalled(context)) return
  const args = [stage.databaseUrl, stage.sandboxUrl, company.senders[0]?.phoneNumberId ?? '']
  const peer = await stage.start('bench/peers/send.ts', args)
  const withKey = { ...service, headers: { ...service.headers, 'idempotency-key': 'key-{n}' } }
  const toPeer = { ...withKey, url: peer.address, path: '/', fits: '"id":"([0-9]+)","wamid":"wamid' }
  const contender = (name: string, order: Order, concurrency: number, pids?: number[]): Contender => ({
    name,
    full: async (seconds) => {
      const [sends, cost] = await costOf(stage, () => stage.load.run({ ...order, concurrency, seconds }), pids)
      requireCleanReport(name, sends)
      return { count: sends.answered, perSecond: sends.perSecond, cost }
    },
    ...(concurrency > 1 && {
      half: async (perSecond: number, seconds: number) =>
        requireCleanReport(name, await stage.load.run({ ...order, concurrency: 256, perSecond, seconds })).p99Ms,
    }),
  })
  for (const [concurrency, name] of [
    [64, 'Fastify and pg'],
    [1, 'Fastify and pg, 1 in flight'],
  ] as const) {
    const other = contender(name, toPeer, concurrency, [peer.pid])
    await compareWithPeer(context, 'sends/s', contender('Parley', withKey, concurrency), other)
  }
  await peer.stop()
}

/** The same sends through each adapter, by turns, each for a new company of its own. */
async function compareAdapters({ context: { report, quick }, stage }: Play): Promise<void> {
  const orders: Record<string, LoadOrder> = {}
  for (const provider of PROVIDER_NAMES) {
    const company = await stage.createCompany(1, provider)
    await stage.operator('POST', `/companies/${company.companyId}/templates/sync`)
    const order = { ...sendOrder(stage, company), concurrency: 64, requests: quick ? 600 : 3_000 }
    // Gupshup answers an id of its own; the wamid comes with a later event.
    orders[provider] = provider === 'gupshup' ? { ...order, fits: '"messageId":([0-9]+),"wamid":null' } : order
  }
  const medians = Object.entries(await mediansByTurns(stage.load, orders)).sort(([, a], [, b]) => a - b)
  const [[fastest, fastestMs] = ['', 1], [slowest, slowestMs] = ['', 1]] = [medians[0], medians.at(-1)]
  const compared = { baseline: fastest, baselineValue: fastestMs }
  const what = `64 in flight, median: the slowest adapter (${slowest})`
  report(ratioFigure(what, slowestMs, 'ms', compared, { atMost: 1.1 }))
}

/** With enough in flight, the provider's latency is the limit. */
async function measureSlow({ context, stage, service }: Play): Promise<void> {
  const [latencyMs, concurrency] = [100, 256]
  await stage.behave({ latencyMs })
  const seconds = context.quick ? 2 : 6
  const [sends, cost] = await costOf(stage, () => stage.load.run({ ...service, concurrency, seconds }))
  await stage.behave({ latencyMs: 0 })
  const { answered, perSecond, p99Ms } = requireCleanReport('sends', sends)
  const compared = { baseline: 'what the latency allows', baselineValue: (concurrency * 1_000) / latencyMs }
  const goal = { atLeast: 0.75, limitedBy: reasonOf(cost, answered) }
  const what = `${concurrency} in flight, provider at ${latencyMs} ms`
  context.report(ratioFigure(what, perSecond, 'sends/s', compared, goal))
  context.report(figure(`${what}, p99`, p99Ms, 'ms'))
}

/** The load saw no message id twice and a wamid in each answer: here, that the database agrees. */
async function checkWritten({ context: { report }, stage, company }: Play): Promise<void> {
  const [row] = await stage.db<{ astray: number }[]>`
    select count(*) filter (where status <> 'sent' or wamid is null) as astray
    from messages
    where company_id = ${company.companyId}
  `
  report(check('messages not sent or without wamid', row?.astray ?? 0, 'messages'))
  report(memoryFigure(stage))
}
