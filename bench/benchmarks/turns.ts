import { benchOf, type Context } from '../bench.ts'
import { compare } from '../compare.ts'
import { createSender, JOURNEYS, type Journey, type Player, startReceiver, WARM_UP } from '../journeys.ts'

type Play = Context & Record<'own' | 'other', Record<Journey, Player>>

/** The service of this checkout and of another, both running, by turns of some seconds: what slows the machine affects both. */
export const turnsBench = benchOf<Play>(
  async (context) => {
    if (context.root === undefined) throw new Error('--root names no other checkout')
    return { ...context, own: await prepare(context), other: await prepare(context, context.root) }
  },
  Object.fromEntries(
    (Object.keys(JOURNEYS) as Journey[]).map((name) => [
      name,
      async ({ own, other, ...context }: Play) => {
        // A path that loses more than a tenth is looked at.
        const options = { name, atLeast: 0.9, halfLoad: false, rounds: context.quick ? 4 : 12 }
        const sideOf = (player: Player) => ({ stage: player.stage, run: () => JOURNEYS[name](player, { seconds: 3 }) })
        await compare(context, options, sideOf(own[name]), { 'the other checkout': sideOf(other[name]) })
      },
    ]),
  ),
)

async function prepare({ setStage }: Context, root?: string): Promise<Record<Journey, Player>> {
  const stage = await setStage({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' }, root })
  const [sender, forwarded] = [await createSender(stage, 8), await stage.createCompany(8)]
  const receiver = await startReceiver(stage)
  await receiver.register(forwarded, '0', { secret: 'a secret of the benchmark' })
  const player = { stage, company: sender }
  // Later sends go to customers who are known, as most do.
  await JOURNEYS.sends(player, WARM_UP)
  return { sends: player, 'events handled': player, 'messages forwarded': { stage, company: forwarded, receiver } }
}
