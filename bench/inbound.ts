import { setTimeout as sleep } from 'node:timers/promises'
import type { Bench, BenchContext } from './bench.ts'
import { figure, type Goal, ratioFigure } from './figure.ts'
import { joinReports, type LoadOrder, type LoadReport, requireCleanReport } from './load.ts'
import { milliseconds, perItem } from './processor-time.ts'
import { type Company, onStage, type Stage } from './stage.ts'

const CUSTOMERS = 10_000
const NUMBERS = 8
const CONCURRENCY = 64
/** In flight where it is accepting alone that is measured: with fewer, both processors have nothing to do at times. */
const MANY = 256

const GOALS = {
  backlog: {
    atLeast: 10_000,
    limitedBy:
      'A message takes 0.055 ms in the service and 0.083 ms in PostgreSQL, on two processors that the load shares.',
  },
  accepted: {
    atLeast: 0.5,
    limitedBy:
      'An event takes 0.046 ms in the service to be read, verified, stored in a batch and answered; the bare route does the first and the last.',
  },
}

/** Events as the provider posts them: accepted durably, then worked off, beside a bare route and one insert each. */
export const inboundBench: Bench = (context) =>
  onStage(async (stage) => {
    const company = await stage.createCompany(NUMBERS)
    const bare = await stage.start('bench/baseline.ts', ['bare'])
    const insert = await stage.start('bench/baseline.ts', ['insert', stage.databaseUrl])
    const orders = inboundOrders(stage, company, bare.address, insert.address)
    context.say('warming up')
    for (const order of Object.values(orders)) await stage.load.run({ ...order, concurrency: CONCURRENCY, seconds: 1 })
    let accepted = (await stage.load.run({ ...orders.service, concurrency: CONCURRENCY, seconds: 2 })).answered
    await waitForEnd(stage)
    const before = await readWritten(stage, company)

    accepted = await measureBoth(context, stage, orders)
    accepted += await measureBacklog(context, stage, orders.service)
    await stage.restart({ ROLE: 'api' })
    accepted += await measureAccepting(context, stage, orders)
    await stage.restart()
    await waitForEnd(stage)
    const after = await readWritten(stage, company)
    const lost = accepted - (after.messages - before.messages)
    context.report(figure('accepted events that are no message', lost, 'events', { atMost: 0 }))
    context.report(
      figure('messages more or less than their conversations count', after.miscounted, 'messages', { atMost: 0 }),
    )
    context.report(figure('messages with the wamid of another', after.doubled, 'messages', { atMost: 0 }))
    context.report(figure('items dead-lettered', after.deadLetters, 'items', { atMost: 0 }))
  })

type Order = Omit<LoadOrder, 'concurrency'>
type Orders = { service: Order; route: Order; insert: Order }

/** The requests of the benchmark: to the service, to a bare route, and to a route that inserts. */
export function inboundOrders(stage: Stage, { senders }: Company, routeUrl: string, insertUrl: string): Orders {
  const timestamp = String(Math.floor(Date.now() / 1_000))
  const value = {
    messaging_product: 'whatsapp',
    metadata: { display_phone_number: '390000000000', phone_number_id: '{choice}' },
    contacts: [{ profile: { name: 'Ada Lovelace' }, wa_id: '{phone}' }],
    messages: [
      { from: '{phone}', id: 'wamid.HBgL{n}', timestamp, type: 'text', text: { body: 'Is my order {n} ready?' } },
    ],
  }
  const body = JSON.stringify({
    object: 'whatsapp_business_account',
    entry: [{ id: '200000000000001', changes: [{ value, field: 'messages' }] }],
  })
  const order = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
    phones: CUSTOMERS,
    choices: senders.map(({ phoneNumberId }) => phoneNumberId),
  } as const
  return {
    service: { url: stage.url, path: '/public/v1/webhooks/whatsapp', ...order },
    route: { url: routeUrl, path: '/', ...order },
    insert: { url: insertUrl, path: '/', ...order },
  }
}

/** Accepting while what was accepted is worked off, up to the end of the queue. Answers how many were accepted. */
async function measureBoth({ report, quick, say }: BenchContext, stage: Stage, { service, route }: Orders) {
  const seconds = quick ? 3 : 10
  const first = await stage.load.run({ ...route, concurrency: CONCURRENCY, seconds: 1 })
  const cpu = await stage.cpu()
  const startedAt = performance.now()
  const events = await stage.load.run({ ...service, concurrency: CONCURRENCY, seconds })
  await waitForEnd(stage)
  const elapsed = (performance.now() - startedAt) / 1_000
  const used = await stage.cpu()
  const last = await stage.load.run({ ...route, concurrency: CONCURRENCY, seconds: 1 })
  requireCleanReport('webhooks', events)
  say(`processor time per event: ${perItem(cpu, used, events.answered)}`)
  report(
    ratioFigure('accepted while processing, 64 in flight', events.perSecond, 'webhooks/s', {
      baseline: 'bare Fastify route',
      baselineValue: joinReports([first, last]).perSecond,
    }),
  )
  report(figure('accepted while processing, p99', events.p99Ms, 'ms', { atMost: 250 }))
  report(figure('accepted and processed to the end of the queue', events.answered / elapsed, 'messages/s'))
  return events.answered
}

/** A queue that was filled while nothing worked, then worked off with nothing else to do. */
async function measureBacklog({ report, quick, say }: BenchContext, stage: Stage, service: Order) {
  await stage.restart({ ROLE: 'api' })
  const events = await stage.load.run({ ...service, concurrency: 256, requests: quick ? 20_000 : 60_000 })
  requireCleanReport('webhooks', events)
  const startedAt = performance.now()
  await stage.restart({ ROLE: 'worker' })
  const workingAt = performance.now()
  const cpu = await stage.cpu()
  const waiting = await countWaiting(stage)
  await waitForEnd(stage)
  const elapsed = (performance.now() - workingAt) / 1_000
  const used = await stage.cpu()
  say(`restart took ${Math.round(workingAt - startedAt)} ms; ${waiting} of ${events.answered} then waited`)
  say(`processor time per message: ${perItem(cpu, used, waiting)}`)
  report(figure('processed to the end of a waiting queue', waiting / elapsed, 'messages/s', GOALS.backlog))
  return events.answered
}

/** Accepting alone, beside both baselines, with few and with many in flight. */
async function measureAccepting(context: BenchContext, stage: Stage, orders: Orders) {
  const { report } = context
  // The baselines have run before; this process has just been started.
  const warmUp = await stage.load.run({ ...orders.service, concurrency: CONCURRENCY, seconds: 4 })
  requireCleanReport('webhooks', warmUp)
  const few = await measureAcceptingOf(context, stage, orders, CONCURRENCY)
  const many = await measureAcceptingOf(context, stage, orders, MANY)
  const reportAccepted = (inFlight: number, of: LoadReport, baseline: string, other: LoadReport, goal?: Goal) => {
    const beside = { baseline, baselineValue: other.perSecond }
    report(ratioFigure(`accepted, ${inFlight} in flight`, of.perSecond, 'webhooks/s', beside, goal))
  }
  reportAccepted(CONCURRENCY, few.service, 'bare Fastify route', few.route, GOALS.accepted)
  reportAccepted(MANY, many.service, 'bare Fastify route', many.route, GOALS.accepted)
  reportAccepted(MANY, many.service, 'one insert per request', many.insert)
  report(figure('accepted, p99', many.service.p99Ms, 'ms', { atMost: 250 }))
  return warmUp.answered + few.service.answered + many.service.answered
}

/** Alternately, so that other load of the machine affects all. */
async function measureAcceptingOf({ quick, say }: BenchContext, stage: Stage, orders: Orders, concurrency: number) {
  const reports = { service: [] as LoadReport[], route: [] as LoadReport[], insert: [] as LoadReport[] }
  const cpu = await stage.cpu()
  for (let round = 0; round < (quick ? 2 : 4); round += 1) {
    for (const kind of ['route', 'service', 'insert'] as const) {
      reports[kind].push(await stage.load.run({ ...orders[kind], concurrency, seconds: 2 }))
    }
  }
  const used = await stage.cpu()
  const service = joinReports(reports.service)
  requireCleanReport('webhooks', service)
  const each = milliseconds((used.service - cpu.service) / service.answered)
  say(`processor time per accepted event, ${concurrency} in flight: service ${each}`)
  return { service, route: joinReports(reports.route), insert: joinReports(reports.insert) }
}

async function countWaiting({ db }: Stage): Promise<number> {
  const [row] = await db<{ waiting: number }[]>`select count(*)::int as waiting from inbound_events`
  return row?.waiting ?? 0
}

/** The end of the queue, seen from outside as often as costs nothing. */
export async function waitForEnd({ db }: Stage): Promise<void> {
  for (;;) {
    const [row] = await db<{ isWaiting: boolean }[]>`select exists (select from inbound_events) as is_waiting`
    if (row?.isWaiting !== true) return
    await sleep(50)
  }
}

async function readWritten({ db }: Stage, { companyId }: Company) {
  const [row] = await db<{ messages: number; doubled: number; miscounted: number; deadLetters: number }[]>`
    select
      count(*)::int as messages,
      (count(*) - count(distinct wamid))::int as doubled,
      abs(count(*) - (select sum(message_count) from conversations where company_id = ${companyId}))::int as miscounted,
      (select count(*) from inbound_items)::int as dead_letters
    from messages
    where company_id = ${companyId}
  `
  if (row === undefined) throw new Error('Nothing was counted')
  return row
}
