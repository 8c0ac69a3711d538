import { setTimeout as sleep } from 'node:timers/promises'
import { PROVIDER_NAMES, type ProviderName } from '../src/providers/provider-name.ts'
import type { Bench, BenchContext } from './bench.ts'
import { figure, ratioFigure } from './figure.ts'
import { joinReports, type LoadOrder, type LoadReport, requireCleanReport } from './load.ts'
import { memoryFigure } from './memory.ts'
import { residentMegabytes } from './process.ts'
import { type Company, onStage, type Stage } from './stage.ts'

const RECIPIENTS = 10_000
const CONCURRENCIES = [1, 8, 64, 256]
const SLOW_CONCURRENCIES = [1, 64, 256]

/** Sends through API, database and sandbox, beside the bare client at the same sandbox and a bare route. */
export const sendBench: Bench = (context) =>
  onStage(async (stage) => {
    const company = await stage.createCompany()
    await stage.operator('POST', `/companies/${company.companyId}/templates/sync`)
    const bare = await stage.start('bench/baseline.ts', ['bare'])
    const orders = ordersOf(stage, company, bare.address)
    context.say('warming up')
    for (const order of Object.values(orders)) await stage.load.run({ ...order, concurrency: 64, seconds: 1 })
    await stage.load.run({ ...orders.service, concurrency: 256, seconds: context.quick ? 2 : 6 })

    await countRoundTrips(context, stage, orders.service)
    for (const concurrency of CONCURRENCIES) await compare(context, stage, orders, concurrency)
    await compareAdapters(context, stage)
    context.say('provider at 100 ms')
    await stage.behave({ latencyMs: 100 })
    for (const concurrency of SLOW_CONCURRENCIES) await measureSlow(context, stage, orders, concurrency)
    await checkWritten(context, stage, company)
    context.report(figure('resident memory at the end', residentMegabytes(stage.service.pid).now, 'MB'))
    context.report(memoryFigure(stage.service.pid))
  })

const GOALS = {
  ofClient: {
    atLeast: 0.15,
    limitedBy: 'A send takes 0.3 ms in the service and 0.22 ms in PostgreSQL, and waits for two commits.',
  },
  one: {
    atLeast: 400,
    limitedBy:
      'Two commits take 0.6 ms, prepare_sends 1.6 ms in twelve steps for a new recipient, complete_sends 0.25 ms, the service 1.3 ms on a processor that has just been idle.',
  },
  slow: {
    atLeast: 2_000,
    limitedBy: '256 in flight allow 2,330/s at the provider; a send waits for two commits beside it.',
  },
}

const PARAMETERS = [
  { type: 'text', text: 'Ada' },
  { type: 'text', text: '{n}' },
]

type Order = Omit<LoadOrder, 'concurrency'>
type Orders = { service: Order; client: Order; route: Order }

function ordersOf(stage: Stage, company: Company, bareUrl: string): Orders {
  const service = sendOrder(stage, company)
  const json = { 'content-type': 'application/json' }
  const graphBody = JSON.stringify({
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    to: '{phone}',
    type: 'template',
    template: {
      name: 'order_update',
      language: { code: 'en_US' },
      components: [{ type: 'body', parameters: PARAMETERS }],
    },
    biz_opaque_callback_data: '{n}',
  })
  const graph = {
    method: 'POST',
    path: `/v25.0/${company.senders[0]?.phoneNumberId}/messages`,
    headers: { authorization: 'Bearer bench', ...json },
    body: graphBody,
    phones: RECIPIENTS,
    fits: '"id":"(wamid[^"]+)"',
  } as const
  return {
    service: { ...service, fits: '"messageId":([0-9]+),"wamid":"wamid' },
    client: { url: stage.sandboxUrl, ...graph },
    route: { ...service, url: bareUrl, path: '/', headers: json, fits: 'true' },
  }
}

/** Sends of an approved template, each to the next of many customers. */
export const sendOrder = ({ url }: Stage, { headers }: Company): Order => ({
  url,
  method: 'POST',
  path: '/public/v1/templates/whatsapp/send',
  headers,
  body: JSON.stringify({
    recipient: '{phone}',
    type: 'template',
    template: {
      name: 'order_update',
      languageCode: 'en_US',
      components: [{ type: 'BODY', parameters: PARAMETERS }],
    },
  }),
  phones: RECIPIENTS,
  fits: '"messageId":([0-9]+)',
})

/**
 * Each statement of a send is a transaction of its own, so that committed transactions per send are round trips per
 * send; those of an idle service are taken off.
 */
async function countRoundTrips({ report, quick }: BenchContext, stage: Stage, order: Order): Promise<void> {
  const seconds = quick ? 2 : 4
  const idle = await commitsDuring(stage, () => sleep(seconds * 1_000))
  let sent = 0
  const busy = await commitsDuring(stage, async () => {
    sent = (await stage.load.run({ ...order, concurrency: 1, seconds })).answered
  })
  report(figure('database round trips per send, one in flight', (busy - idle) / sent, '', { atMost: 3 }))
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

/** Baseline, service, baseline, within the same minute; the service twice where the goal is. */
async function compare(context: BenchContext, stage: Stage, orders: Orders, concurrency: number): Promise<void> {
  const { report, quick, say } = context
  const seconds = quick ? 1 : 3
  const run = (order: Order, factor = 1) => stage.load.run({ ...order, concurrency, seconds: seconds * factor })
  const client: LoadReport[] = []
  const route: LoadReport[] = []
  const service: LoadReport[] = []
  let used = { service: 0, database: 0 }
  for (let round = 0; round < (concurrency === 64 ? 2 : 1); round += 1) {
    client.push(await run(orders.client))
    route.push(await run(orders.route))
    const before = await stage.cpu()
    service.push(await run(orders.service, 2))
    const after = await stage.cpu()
    used = {
      service: used.service + after.service - before.service,
      database: used.database + after.database - before.database,
    }
    client.push(await run(orders.client))
    route.push(await run(orders.route))
  }
  const sends = joinReports(service)
  requireCleanReport('sends', sends)
  const perSend = (cpu: number) => `${((cpu / sends.answered) * 1_000).toFixed(2)} ms`
  say(
    `${concurrency} in flight: processor time per send: service ${perSend(used.service)}, database ${perSend(used.database)}, load ${perSend(sends.cpuSeconds)}`,
  )
  const name = `${concurrency} in flight, provider at 0 ms`
  report(
    ratioFigure(
      name,
      sends.perSecond,
      'sends/s',
      { baseline: 'bare client', baselineValue: joinReports(client).perSecond },
      concurrency === 64 ? GOALS.ofClient : undefined,
    ),
  )
  if (concurrency === 1) report(figure(`${name}, by itself`, sends.perSecond, 'sends/s', GOALS.one))
  report(
    ratioFigure(name, sends.perSecond, 'sends/s', {
      baseline: 'bare Fastify route',
      baselineValue: joinReports(route).perSecond,
    }),
  )
  report(figure(`${name}, p99`, sends.p99Ms, 'ms'))
}

/** The same sends through each adapter, alternately, each for a new company of its own. */
async function compareAdapters({ report, quick, say }: BenchContext, stage: Stage): Promise<void> {
  say('the three adapters')
  const orders = new Map<ProviderName, Order>()
  for (const provider of PROVIDER_NAMES) {
    const company = await stage.createCompany(1, provider)
    await stage.operator('POST', `/companies/${company.companyId}/templates/sync`)
    orders.set(provider, sendOrder(stage, company))
  }
  const reports = new Map<ProviderName, LoadReport[]>(PROVIDER_NAMES.map((provider) => [provider, []]))
  for (let round = 0; round < (quick ? 4 : 10); round += 1) {
    // Forwards and backwards, so that what changes with time meets all of them alike.
    for (const [provider, order] of round % 2 ? [...orders].reverse() : orders) {
      const done = await stage.load.run({ ...order, concurrency: 64, requests: quick ? 600 : 3_000 })
      requireCleanReport(`sends through ${provider}`, done)
      reports.get(provider)?.push(done)
    }
  }
  // By the time that all rounds took: rounds are of equal numbers of sends.
  const rates = [...reports].map(([provider, done]) => {
    const { answered, seconds } = joinReports(done)
    report(figure(`64 in flight, through ${provider}`, answered / seconds, 'sends/s'))
    return answered / seconds
  })
  report(
    figure('fastest adapter in terms of the slowest', Math.max(...rates) / Math.min(...rates), '', { atMost: 1.1 }),
  )
}

async function measureSlow(context: BenchContext, stage: Stage, orders: Orders, concurrency: number): Promise<void> {
  const { report, quick } = context
  const seconds = quick ? 2 : 6
  const client = [await stage.load.run({ ...orders.client, concurrency, seconds: seconds / 2 })]
  const sends = await stage.load.run({ ...orders.service, concurrency, seconds })
  client.push(await stage.load.run({ ...orders.client, concurrency, seconds: seconds / 2 }))
  requireCleanReport('sends', sends)
  const name = `${concurrency} in flight, provider at 100 ms`
  const beside = { baseline: 'bare client', baselineValue: joinReports(client).perSecond }
  report(ratioFigure(name, sends.perSecond, 'sends/s', beside))
  if (concurrency === 256) report(figure(`${name}, by itself`, sends.perSecond, 'sends/s', GOALS.slow))
  report(figure(`${name}, p99`, sends.p99Ms, 'ms'))
}

/** The load saw no message id twice and a wamid in each answer: here, that the database agrees. */
async function checkWritten({ report }: BenchContext, { db }: Stage, { companyId }: Company): Promise<void> {
  const [row] = await db<{ astray: number }[]>`
    select count(*) filter (where status <> 'sent' or wamid is null) as astray
    from messages
    where company_id = ${companyId}
  `
  report(figure('messages not sent or without wamid', row?.astray ?? 0, 'messages', { atMost: 0 }))
}
