import { setTimeout as sleep } from 'node:timers/promises'
import { expireDeliveries } from '../../src/webhooks/deliveries/delivery-end-store.ts'
import { medianOf } from '../average.ts'
import { benchOf, type Context } from '../bench.ts'
import { byTurns } from '../by-turns.ts'
import { costOf, reasonOf, sumOf } from '../cost.ts'
import { inboundOrder, type Receiver, startReceiver } from '../journeys.ts'
import { type Company, numberOf, type Stage } from '../stage.ts'

const HEALTHY = 15
/** Seventy percent of the receivers of a company never answer, or answer 500 at once. */
const BAD = 35
const LOAD = { perSecond: 10, concurrency: 8, phones: 100 }
/** The healthy receivers' p99 may be so many times what it is without the bad ones. */
const GOAL = 1.5

/**
 * The other receivers of three companies, and the seconds of messages that they get before those that are measured: second
 * attempts fall due after 5 s.
 */
const OTHERS = {
  alone: { count: 0, path: '', lead: 1 },
  failing: { count: BAD, path: 'fail', lead: 6 },
  hanging: { count: BAD, path: 'never', lead: 2 },
}
type Kind = keyof typeof OTHERS
const KINDS: readonly Kind[] = ['alone', 'failing', 'hanging']

type Play = Context & { stage: Stage; receiver: Receiver; companies: Map<Kind, Company> }

/** Messages at a constant rate to healthy receivers, by turns for three companies with and without others. */
export const receiversBench = benchOf<Play>(
  async (context) => {
    const stage = await context.setStage({ statements: true, env: { WEBHOOK_ALLOW_PRIVATE: 'true' } })
    const receiver = await startReceiver(stage)
    const companies = new Map<Kind, Company>()
    for (const kind of KINDS) {
      const company = await stage.createCompany()
      companies.set(kind, company)
      const { count, path } = OTHERS[kind]
      for (let i = 0; i < HEALTHY; i += 1) await receiver.register(company, `ok/${i}`)
      for (let i = 0; i < count; i += 1) await receiver.register(company, `${path}/${i}`)
    }
    return { ...context, stage, receiver, companies }
  },
  { healthy: measureHealthy },
)

async function measureHealthy(play: Play): Promise<void> {
  const { quick, report, say } = play
  const measured = await byTurns(KINDS, (kind) => measure(play, kind), quick ? 2 : 3)
  const p99s = (kind: Kind) => measured[kind].map(([{ p99Ms }]) => p99Ms)
  for (const kind of KINDS)
    say(`${kind}: p99 ${p99s(kind).map(Math.round).join(', ')} ms; ${reasonFor(measured[kind])}`)
  for (const [kind, what] of [
    ['hanging', 'that never answer'],
    ['failing', 'that answer 500'],
  ] as const) {
    const than = { alone: medianOf(p99s('alone')) }
    const name = `p99 beside ${BAD} ${what}`
    report({ name, value: medianOf(p99s(kind)), unit: 'ms', than, atMost: GOAL, reason: reasonFor(measured[kind]) })
  }
}

/** The cost of a message in all rounds, and how many attempts at the other receivers there were meanwhile. */
function reasonFor(some: Awaited<ReturnType<typeof measure>>[]): string {
  const cost = sumOf(some.map(([, one]) => one))
  const sum = (of: (report: (typeof some)[0][0]) => number) => some.reduce((total, [report]) => total + of(report), 0)
  const others = Math.round(sum((report) => report.others) / cost.seconds)
  return `${reasonOf(
    cost,
    sum(({ count }) => count),
  )}; ${others} attempts/s at the others`
}

async function measure({ quick, stage, receiver, companies }: Play, kind: Kind) {
  const company = companies.get(kind)
  if (company === undefined) throw new Error(kind)
  const order = { ...inboundOrder(stage, company), ...LOAD }
  const run = (seconds: number) => receiver.receive(stage.load.run({ ...order, seconds }), HEALTHY)
  await run(OTHERS[kind].lead)
  const measured = await costOf(stage, () => run(quick ? 2 : 6))
  await endDeliveries(stage, receiver)
  return measured
}

/** Ends what a round has left, so that its retries do not run during the next one. */
async function endDeliveries({ db }: Stage, receiver: Receiver): Promise<void> {
  const countPending = () =>
    numberOf(db<{ value: number }[]>`select count(*)::int as value from deliveries where status = 'pending'`)
  while ((await countPending()) > 0) {
    // Attempts at receivers that never answer end when their connections do.
    await receiver.release()
    await expireDeliveries(db, 0, 'expired: the round is over', 1_000)
    await sleep(20)
  }
}
