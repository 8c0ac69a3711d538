import { setTimeout as sleep } from 'node:timers/promises'
import { PROVIDER_NAMES } from '../../src/providers/provider-names.ts'
import { benchOf, type Context } from '../bench.ts'
import { mediansByTurns } from '../by-turns.ts'
import { type Contender, compare } from '../compare.ts'
import { costOf, reasonOf } from '../cost.ts'
import { check } from '../figure.ts'
import { createSender, sendOrder, WARM_UP } from '../journeys.ts'
import type { LoadOrder } from '../load.ts'
import { peersAreInstalled } from '../peers/install.ts'
import { type Company, numberOf, type Stage, statisticsOf } from '../stage.ts'

type Play = Context & { stage: Stage; company: Company; service: LoadOrder }

/** Sends through API, database and sandbox, compared with the peer at the same sandbox. */
export const sendBench = benchOf<Play>(
  async (context) => {
    const stage = await context.setStage()
    const company = await createSender(stage)
    const service = sendOrder(stage, company)
    await stage.load.run({ ...service, ...WARM_UP })
    return { ...context, stage, company, service }
  },
  {
    'round trips': countRoundTrips,
    peers: measurePeer,
    adapters: compareAdapters,
    'slow provider': measureSlow,
  },
  checkWritten,
)

/**
 * Each statement of a send is a transaction of its own, so that committed transactions per send are round trips per
 * send; those of an idle service are taken off.
 */
async function countRoundTrips({ quick, report, stage, service }: Play): Promise<void> {
  const seconds = quick ? 2 : 4
  const commits = 'select xact_commit as value from pg_stat_database where datname = current_database()'
  const read = async () => (await statisticsOf<{ value: number }>(stage, commits)).value
  const start = await read()
  await sleep(seconds * 1_000)
  const idle = await read()
  const { count } = await stage.load.run({ ...service, concurrency: 1, seconds })
  const value = ((await read()) - idle - (idle - start)) / count
  report({ name: 'round trips to the database', value, atMost: 3 })
}

/** Each send with a key of its own, 64 in flight and one at a time. */
async function measurePeer(play: Play): Promise<void> {
  if (!peersAreInstalled(play)) return
  const { stage, company, service } = play
  const args = [stage.databaseUrl, stage.sandboxUrl, company.senders[0]?.phoneNumberId ?? '']
  const peer = await stage.start('bench/peers/send.ts', args)
  const withKey = { ...service, headers: { ...service.headers, 'idempotency-key': 'key-{n}' } }
  const toPeer = { ...withKey, url: peer.address, path: '/', fits: '"id":"([0-9]+)","wamid":"wamid' }
  for (const concurrency of [64, 1]) {
    const contender = (order: LoadOrder): Contender => ({
      run: (load) => stage.load.run({ ...order, concurrency, ...load }),
    })
    const peers = { 'Fastify+pg': { ...contender(toPeer), pids: [peer.pid] } }
    const options = { stage, name: `${concurrency} in flight`, atHalfLoad: concurrency > 1 }
    await compare(play, options, contender(withKey), peers)
  }
  await peer.stop()
}

/** The same sends through each adapter, by turns, each for a new company of its own. */
async function compareAdapters({ report, quick, stage }: Play): Promise<void> {
  const orders: Record<string, LoadOrder> = {}
  for (const provider of PROVIDER_NAMES) {
    const order = { ...sendOrder(stage, await createSender(stage, 1, provider)), requests: quick ? 500 : 2_000 }
    // Gupshup answers an id of its own; the wamid comes with a later event.
    orders[provider] = provider === 'gupshup' ? { ...order, fits: '"messageId":([0-9]+),"wamid":null' } : order
  }
  const [[fastest, ms] = ['', 1], ...others] = Object.entries(await mediansByTurns(stage.load, orders)).sort(
    ([, a], [, b]) => a - b,
  )
  const [slowest, value] = others.at(-1) ?? ['', Number.NaN]
  const reason = others
    .map(([name, one]) => `${name} takes ${(one - ms).toFixed(1)} ms more than ${fastest}`)
    .join(', ')
  report({ name: `slowest adapter, ${slowest}`, value, unit: 'ms', than: { [fastest]: ms }, atMost: 1.1, reason })
}

/** With enough in flight, the provider's latency is the limit. */
async function measureSlow({ quick, report, stage, service }: Play): Promise<void> {
  const [latencyMs, concurrency] = [100, 256]
  await stage.behave({ latencyMs })
  const [sends, cost] = await costOf(stage, () => stage.load.run({ ...service, concurrency, seconds: quick ? 2 : 5 }))
  await stage.behave({ latencyMs: 0 })
  const than = { 'the latency': (concurrency * 1_000) / latencyMs }
  const name = `${concurrency} in flight, provider at ${latencyMs} ms`
  report({ name, value: sends.perSecond, unit: '/s', than, atLeast: 0.75, reason: reasonOf(cost, sends.count) })
}

/** The load saw no message id twice and a wamid in each answer: here, that the database agrees. */
async function checkWritten({ report, stage, company: { companyId } }: Play): Promise<void> {
  const astray = await numberOf(stage.db<{ value: number }[]>`
    select count(*)::int as value
    from messages
    where company_id = ${companyId} and (status <> 'sent' or wamid is null)
  `)
  report(check('messages not sent or without wamid', astray))
}
