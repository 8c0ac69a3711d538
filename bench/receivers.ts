import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { medianOf } from './average.ts'
import type { Bench } from './bench.ts'
import { ratioFigure } from './figure.ts'
import { eventOf } from './forward.ts'
import type { ReceiverReport } from './receiver.ts'
import { type Company, onStage, register, type Stage } from './stage.ts'

const HEALTHY = 15
/** Seventy percent of the receivers of a company never answer, or answer 500 at once. */
const BAD = 35
const PER_SECOND = 10
/** The healthy receivers' p99 may be so many times what it is without the bad ones. */
const GOAL = {
  atMost: 1.5,
  limitedBy: 'Attempts at bad receivers share the processors with those at healthy ones.',
}

/**
 * Messages at a constant rate to healthy receivers, round robin for three companies: one has only these, one has others that
 * never answer, one has others that answer 500.
 */
export const receiversBench: Bench = ({ quick, report, say }) =>
  onStage(async (stage) => {
    await stage.restart({ WEBHOOK_ALLOW_PRIVATE: 'true' })
    const { address: receiverUrl } = await stage.start('bench/receiver.ts', [])
    const alone = await stage.createCompany(1)
    const [hanging, failing] = [await stage.createCompany(1), await stage.createCompany(1)]
    for (const company of [alone, hanging, failing]) await registerMany(stage, company, `${receiverUrl}/ok`, HEALTHY)
    await registerMany(stage, hanging, `${receiverUrl}/never`, BAD)
    await registerMany(stage, failing, `${receiverUrl}/fail`, BAD)
    const seconds = quick ? 4 : 10
    const reports: Record<'alone' | 'hanging' | 'failing', ReceiverReport[]> = { alone: [], hanging: [], failing: [] }
    for (const company of [hanging, failing]) await forward(stage, receiverUrl, company, 2)
    for (let round = 0; round < (quick ? 2 : 4); round += 1) {
      reports.alone.push(await forward(stage, receiverUrl, alone, seconds))
      reports.hanging.push(await forward(stage, receiverUrl, hanging, seconds))
      reports.failing.push(await forward(stage, receiverUrl, failing, seconds))
    }
    for (const [name, some] of Object.entries(reports)) {
      const p50Ms = medianOf(some.map((one) => one.p50Ms)).toFixed(1)
      say(`${name}: p50 ${p50Ms} ms, p99 ${some.map((one) => one.p99Ms.toFixed(0))}`)
    }
    const p99Of = (some: ReceiverReport[]) => medianOf(some.map((one) => one.p99Ms))
    const baseline = { baseline: 'healthy receivers alone', baselineValue: p99Of(reports.alone) }
    for (const [kind, some] of [
      ['never answer', reports.hanging],
      ['answer 500', reports.failing],
    ] as const) {
      const what = `${HEALTHY} healthy receivers beside ${BAD} that ${kind}, ${PER_SECOND} messages/s, p99`
      report(ratioFigure(what, p99Of(some), 'ms', baseline, GOAL))
    }
  })

async function registerMany(stage: Stage, company: Company, url: string, count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) await register(stage, company, { url: `${url}/${i}` })
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
