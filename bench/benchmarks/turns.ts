import { meanOf } from '../average.ts'
import type { Bench, BenchContext } from '../bench.ts'
import { ratioFigure } from '../figure.ts'
import { type LoadOrder, requireCleanReport } from '../load.ts'
import { onStage, register, type Stage } from '../stage.ts'
import { untilReceived } from './forward.ts'
import { inboundOrder, waitForEnd } from './inbound.ts'
import { sendOrder } from './send.ts'

const CONCURRENCY = 64
const SECONDS = 3
/** The share that a change may cost: a path that loses more is looked at. */
const LEAST = 0.9

/** The paths that are compared: each works for some seconds, and returns how many items a second it completed. */
type Paths = Record<'sends' | 'events handled' | 'messages forwarded', () => Promise<number>>

/** The service of this checkout and of another, both running, by turns of some seconds: what slows the machine affects both. */
export const turnsBench: Bench = async (context) => {
  const { root, say } = context
  if (root === undefined) return say('left out: --root names no other checkout')
  const env = { WEBHOOK_ALLOW_PRIVATE: 'true' }
  await onStage(
    (own) => onStage(async (other) => compare(context, await pathsOf(own), await pathsOf(other)), { root, env }),
    { env },
  )
}

async function compare({ quick, only, report }: BenchContext, own: Paths, other: Paths): Promise<void> {
  for (const name of Object.keys(own) as (keyof Paths)[]) {
    if (!name.includes(only)) continue
    const [ownRates, otherRates]: [number[], number[]] = [[], []]
    for (let turn = 0; turn < (quick ? 4 : 12); turn += 1) {
      const turns = [async () => ownRates.push(await own[name]()), async () => otherRates.push(await other[name]())]
      for (const measure of turn % 2 === 0 ? turns : turns.toReversed()) await measure()
    }
    const compared = { baseline: 'the other checkout', baselineValue: meanOf(otherRates) }
    report(ratioFigure(`${name}, ${CONCURRENCY} in flight`, meanOf(ownRates), '/s', compared, { atLeast: LEAST }))
  }
}

async function pathsOf(stage: Stage): Promise<Paths> {
  const [company, forwarded] = [await stage.createCompany(8), await stage.createCompany(8)]
  await stage.operator('POST', `/companies/${company.companyId}/templates/sync`)
  const { address: receiverUrl } = await stage.start('bench/receiver.ts', [])
  await register(stage, forwarded, { url: `${receiverUrl}/0`, secret: 'a secret of the benchmark' })
  const load = async (order: Omit<LoadOrder, 'concurrency'>, seconds: number) =>
    requireCleanReport('load', await stage.load.run({ ...order, concurrency: CONCURRENCY, seconds }))
  const rate = async (work: () => Promise<number>) => {
    const startedAtMs = performance.now()
    return (await work()) / ((performance.now() - startedAtMs) / 1_000)
  }
  const send = (seconds: number) => async () => (await load(sendOrder(stage, company), seconds)).answered
  const handle = (seconds: number) => async () => {
    const { answered } = await load(inboundOrder(stage, company.senders), seconds)
    await waitForEnd(stage)
    return answered
  }
  const forward = (seconds: number) => async () => {
    await fetch(`${receiverUrl}/reset`)
    const { answered } = await load(inboundOrder(stage, forwarded.senders), seconds)
    await untilReceived(receiverUrl, answered)
    return answered
  }
  for (const warmUp of [send(4), handle(2), forward(2)]) await warmUp()
  return {
    sends: () => rate(send(SECONDS)),
    'events handled': () => rate(handle(SECONDS)),
    'messages forwarded': () => rate(forward(SECONDS)),
  }
}
