import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { expireDeliveries } from '../src/webhooks/deliveries/delivery-end-store.ts'
import { medianOf } from './average.ts'
import type { Bench } from './bench.ts'
import { ratioFigure } from './figure.ts'
import { eventOf } from './forward.ts'
import type { ReceiverReport } from './receiver.ts'
import { type Company, onStage, register, type Stage } from './stage.ts'

const HEALTHY = 15
/** Seventy percent of the receivers of a company never answer, or answer 500 at once. */
const BAD = 35
/** Receivers that answer at once and cost as many attempts as those that answer 500: each of these gets a second one meanwhile. */
const BUSY = 2 * BAD
const PER_SECOND = 10
/** Seconds of messages that bad receivers get before those that are measured: second attempts fall due after 5 s. */
const LEAD = { alone: 1, busy: 1, failing: 6, hanging: 2 } as const
/** The healthy receivers' p99 may be so many times what it is without the bad ones. */
const GOAL = {
  atMost: 1.5,
  limitedBy: 'Attempts at bad receivers share the processors with those at healthy ones.',
}

type Kind = keyof typeof LEAD
type Measured = ReceiverReport & { seconds: number; serviceShare: number; databaseShare: number }

/**
 * Messages at a constant rate to healthy receivers, round robin for four companies: one has only these, one has others that
 * never answer, one has others that answer 500, and one has more that answer at once. What a round leaves is ended before
 * the next one.
 */
export const receiversBench: Bench = ({ quick, report, say }) =>
  onStage(async (stage) => {
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
      const of = (pick: (one: Measured) => number, digits = 0) =>
        some.map((one) => pick(one).toFixed(digits)).join(', ')
      say(`${kind}: p50 ${of(({ p50Ms }) => p50Ms)} ms, p99 ${of(({ p99Ms }) => p99Ms)} ms`)
      say(`  other attempts ${of(({ others, seconds }) => others / seconds)} a second`)
      say(`  processors: service ${of((one) => one.serviceShare, 2)}, database ${of((one) => one.databaseShare, 2)}`)
    }
    const p99Of = (kind: Kind) => medianOf(measured[kind].map(({ p99Ms }) => p99Ms))
    const alone = { baseline: 'healthy receivers alone', baselineValue: p99Of('alone') }
    const busy = { baseline: `beside ${BUSY} that answer at once`, baselineValue: p99Of('busy') }
    const what = (kind: string) => `${HEALTHY} healthy receivers beside ${kind}, ${PER_SECOND} messages/s, p99`
    report(ratioFigure(what(`${BAD} that never answer`), p99Of('hanging'), 'ms', alone, GOAL))
    report(ratioFigure(what(`${BAD} that answer 500`), p99Of('failing'), 'ms', alone, GOAL))
    report(ratioFigure(what(`${BAD} that answer 500, as many attempts`), p99Of('failing'), 'ms', busy))
  })

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
  const [before, startedAt] = [await stage.cpu(), performance.now()]
  const report = await forward(stage, receiverUrl, company, seconds)
  const [after, elapsed] = [await stage.cpu(), (performance.now() - startedAt) / 1_000]
  await endDeliveries(stage, receiverUrl)
  return {
    ...report,
    seconds: elapsed,
    serviceShare: (after.service - before.service) / elapsed,
    databaseShare: (after.database - before.database) / elapsed,
  }
}

/** Posts messages at a constant rate, and waits until the healthy receivers have all of them. */
async function forward(stage: Stage, receiverUrl: string, company: Company, seconds: number): Promise<ReceiverReport> {
  await fetch(`${receiverUrl}/reset`)
  const pool = new Pool(stage.url, { connections: 8 })
  const number = company.senders[0]?.phoneNumberId ?? ''
  const total = PER_SECOND * seconds
  for (let n = 0; n < total; n += 1) {
    const postedAt = (performance.timeOrigin + performance.now()).toFixed(3)
    const body = eventOf(number, String(393_300_000_000 + n), `wamid.T${postedAt}-${n}`)
    const answer = pool.request({
      method: 'POST',
      path: '/public/v1/webhooks/whatsapp',
      headers: { 'content-type': 'application/json' },
      body,
    })
    const [{ body: text }] = await Promise.all([answer, sleep(1_000 / PER_SECOND)])
    await text.dump()
  }
  await pool.close()
  const endsAt = performance.now() + 60_000
  for (;;) {
    const report = (await (await fetch(`${receiverUrl}/report`)).json()) as ReceiverReport
    if (report.count >= total * HEALTHY) return report
    if (performance.now() > endsAt) throw new Error(`${report.count} of ${total * HEALTHY} deliveries came`)
    await sleep(50)
  }
}

/** Ends what a round has left, so that its retries do not run beside the next one. */
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
