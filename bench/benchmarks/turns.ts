import { meanOf } from '../average.ts'
import { benchOf, type Context } from '../bench.ts'
import { byTurns } from '../by-turns.ts'
import { createSender, JOURNEYS, type Journey, type Player, startReceiver } from '../journeys.ts'

const LOAD = { seconds: 3 }
/** The share that a change may cost: a path that loses more is looked at. */
const LEAST = 0.9

type Players = Record<Journey, Player>
type Play = Context & { players: Record<'own' | 'other', Players> | undefined }

/** The service of this checkout and of another, both running, by turns of some seconds: what slows the machine affects both. */
export const turnsBench = benchOf<Play>(
  async (context) => {
    const { root, say } = context
    if (root === undefined) say('left out: --root names no other checkout')
    const players =
      root === undefined ? undefined : { own: await prepare(context), other: await prepare(context, root) }
    return { ...context, players }
  },
  {
    sends: (play) => measure(play, 'sends'),
    'events handled': (play) => measure(play, 'events handled'),
    'messages forwarded': (play) => measure(play, 'messages forwarded'),
  },
)

async function prepare({ setStage }: Context, root?: string): Promise<Players> {
  const stage = await setStage({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' }, root })
  const [sender, forwarded] = [await createSender(stage, 8), await stage.createCompany(8)]
  const receiver = await startReceiver(stage)
  await receiver.register(forwarded, '0', { secret: 'a secret of the benchmark' })
  const player = { stage, company: sender }
  return { sends: player, 'events handled': player, 'messages forwarded': { stage, company: forwarded, receiver } }
}

async function measure({ quick, report, players }: Play, name: Journey): Promise<void> {
  if (players === undefined) return
  const run = async (which: keyof typeof players) => {
    const startedAtMs = performance.now()
    const { count } = await JOURNEYS[name](players[which][name], LOAD)
    return count / ((performance.now() - startedAtMs) / 1_000)
  }
  const sides = ['own', 'other'] as const
  for (const side of sides) await run(side)
  const rates = await byTurns(sides, run, quick ? 4 : 12)
  const than = { 'the other checkout': meanOf(rates.other) }
  report({ name, value: meanOf(rates.own), unit: '/s', than, atLeast: LEAST })
}
