import { setTimeout as sleep } from 'node:timers/promises'
import { expireDeliveries } from '../../src/webhooks/deliveries/delivery-end-store.ts'
import { medianOf } from '../average.ts'
import { type Bench, type BenchContext, benchOf } from '../bench.ts'
import { type Cost, costOf, joinCosts, reasonOf } from '../cost.ts'
import { ratioFigure } from '../figure.ts'
import { requireCleanReport } from '../load.ts'
import type { ReceiverReport } from '../receiver.ts'
import { type Company, register, type Stage } from '../stage.ts'
import { untilReceived } from './forward.ts'
import { inboundOrder } from './inbound.ts'

const HEALTHY = 15
/** Seventy percent of the receivers of a company never answer, or answer 500 at once. */
const BAD = 35
/** Receivers that answer at once and cost as many attempts as those that answer 500: each of these gets a second one meanwhile. */
const BUSY = 2 * BAD
const PER_SECOND = 10
/** Seconds of messages that bad receivers get before those that are measured: second attempts fall due after 5 s. */
const LEAD = { alone: 1, busy: 1, failing: 6, hanging: 2 } as const
const CUSTOMERS = 100
/** The healthy receivers' p99 may be so many times what it is without the bad ones. */
const GOAL = 1.5

type Kind = keyof typeof LEAD
type Play = { context: BenchContext; stage: Stage }
type Measured = ReceiverReport & { cost: Cost }

/**
 * Messages at a constant rate to healthy receivers, round robin for four companies: one has only these, one has others that
 * never answer, one has others that answer 500, and one has more that answer at once. Deliveries that a round leaves unfinished are ended before
 * the next one.
 */
export const receiversBench: Bench = benchOf(async (context, stage) => ({ context, stage }), {
  healthy: measureHealthy,
})

async function measureHealthy({ context: { quick, report, say }, stage }: Play): Promise<void> {
  await stage.restart({ WEBHOOK_ALLOW_PRIVATE: 'true' })
  const { address: receiverUrl } = await stage.start('bench/receiver.ts', [])
  const others = { alone: [0, ''], busy: [BUSY, 'other'], failing: [BAD, 'fail'], hanging: [BAD, 'never'] } as const
  const companies = new Map<Kind, Company>()
  for (const kind of kindsOf(others)) {
    const company = await stage.createCompany(1)
    companies.set(kind, company)
    const [count, path] = others[kind]
    await registerMany(stage, company, `${receiverUrl}/ok`, HEALTHY)
    await registerMany(stage, company, `${receiverUrl}/${path}`, count)
  }
  const measured: Record<Kind, Measured[]> = { alone: [], busy: [], failing: [], hanging: [] }
  for (let round = 0; round < (quick ? 3 : 4); round += 1) {
    for (const [kind, company] of companies) {
      measured[kind].push(await measure(stage, receiverUrl, company, LEAD[kind], quick ? 2 : 10))
    }
  }
  for (const [kind, some] of Object.entries(measured)) {
    const of = (pick: (one: Measured) => number) => some.map((one) => pick(one).toFixed(0)).join(', ')
    say(`${kind}: p50 ${of(({ p50Ms }) => p50Ms)} ms, p99 ${of(({ p99Ms }) => p99Ms)} ms; ${reasonFor(some)}`)
  }
  const p99Of = (kind: Kind) => medianOf(measured[kind].map(({ p99Ms }) => p99Ms))
  const alone = { baseline: 'healthy receivers alone', baselineValue: p99Of('alone') }
  const busy = { baseline: `with ${BUSY} that answer at once`, baselineValue: p99Of('busy') }
  const what = (others: string) => `${HEALTHY} healthy receivers with ${others}, ${PER_SECOND} messages/s, p99`
  const goal = (kind: Kind) => ({ atMost: GOAL, limitedBy: reasonFor(measured[kind]) })
  report(ratioFigure(what(`${BAD} that never answer`), p99Of('hanging'), 'ms', alone, goal('hanging')))
  report(ratioFigure(what(`${BAD} that answer 500`), p99Of('failing'), 'ms', alone, goal('failing')))
  report(ratioFigure(what(`${BAD} that answer 500, as many attempts`), p99Of('failing'), 'ms', busy))
}

/** The cost of a message in all rounds, and how many attempts at the other receivers there were meanwhile. */
function reasonFor(some: readonly Measured[]): string {
  const sum = (of: (one: Measured) => number) => some.reduce((total, one) => total + of(one), 0)
  const cost = joinCosts(some.map((one) => one.cost))
  const others = Math.round(sum((one) => one.others) / cost.seconds)
  return `${reasonOf(cost, sum(({ count }) => count) / HEALTHY)}; ${others} attempts/s at the others`
}

const kindsOf = (others: Record<Kind, unknown>) => Object.keys(others) as Kind[]

async function registerMany(stage: Stage, company: Company, url: string, count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) await register(stage, company, { url: `${url}/${i}` })
}

async function measure(
  stage: Stage,
  receiverUrl: string,
  company: Company,
  lead: number,
  seconds: number,
): Promise<Measured> {
  await forward(stage, receiverUrl, company, lead)
  const [report, cost] = await costOf(stage, () => forward(stage, receiverUrl, company, seconds))
  await endDeliveries(stage, receiverUrl)
  return { ...report, cost }
}

/** Posts messages at a constant rate, and waits until the healthy receivers have all of them. */
async function forward(stage: Stage, receiverUrl: string, company: Company, seconds: number): Promise<ReceiverReport> {
  await fetch(`${receiverUrl}/reset`)
  const messages = { ...inboundOrder(stage, company.senders), phones: CUSTOMERS }
  const load = await stage.load.run({ ...messages, concurrency: 8, perSecond: PER_SECOND, seconds })
  return untilReceived(receiverUrl, requireCleanReport('webhooks', load).answered * HEALTHY)
}

/** Ends what a round has left, so that its retries do not run during the next one. */
async function endDeliveries({ db }: Stage, receiverUrl: string): Promise<void> {
  for (;;) {
    // Attempts at receivers that never answer end when their connections do.
    await fetch(`${receiverUrl}/release`)
    await expireDeliveries(db, 0, 'expired: the round is over', 1_000)
    const [row] = await db<[{ count: number }]>`
      select count(*)::integer as count from deliveries where status = 'pending'
    `
    if (row.count === 0) return
    await sleep(20)
  }
}
