import { benchOf, type Context } from '../bench.ts'
import { compare, contender } from '../compare.ts'
import { costOf, reasonOf } from '../cost.ts'
import { inboundOrder, untilHandled, WARM_UP } from '../journeys.ts'
import type { LoadOrder } from '../load.ts'
import { startPeer } from '../peers/install.ts'
import type { Program } from '../process.ts'
import { numberOf, type Stage } from '../stage.ts'

/** `order`: one event each. `insert`: a server that inserts each body by itself. */
type Play = Context & { stage: Stage; order: LoadOrder; insert: Program | undefined }

/** Events as the provider posts them: accepted durably, then handled, compared with a server that inserts each body. */
export const inboundBench = benchOf<Play>(
  async (context) => {
    const stage = await context.setStage()
    const order = inboundOrder(stage, await stage.createCompany(8))
    await stage.load.run({ ...order, ...WARM_UP })
    await untilHandled(stage)
    return { ...context, stage, order, insert: await startPeer(context, stage, 'insert') }
  },
  { accepting: measureAccepting, backlog: measureBacklog },
)

/** Accepting alone. */
async function measureAccepting(play: Play): Promise<void> {
  const { stage, order, insert } = play
  if (insert === undefined) return
  await stage.restart({ ROLE: 'api' })
  const peers = { 'an insert each': contender(stage, { ...order, path: '/' }, insert) }
  await compare(play, { name: 'accepted' }, contender(stage, order), peers)
}

/** A queue that was filled while nothing handled it, then handled with nothing else to do. */
async function measureBacklog({ quick, report, stage, order, insert }: Play): Promise<void> {
  if (insert === undefined) return
  await stage.restart({ ROLE: 'api' })
  await stage.load.run({ ...order, requests: quick ? 15_000 : 50_000, concurrency: 256 })
  await stage.restart({ ROLE: 'worker' })
  const waiting = await numberOf(stage.db<{ value: number }[]>`select count(*)::int as value from inbound_events`)
  const [, cost] = await costOf(stage, () => untilHandled(stage))
  await stage.restart()
  const { perSecond } = await contender(stage, { ...order, path: '/' }, insert).run({ seconds: quick ? 2 : 4 })
  const goal = { than: { 'an insert each': perSecond }, atLeast: 1, reason: reasonOf(cost, waiting) }
  report({ name: 'processed of a waiting queue', value: waiting / cost.seconds, unit: '/s', ...goal })
}
