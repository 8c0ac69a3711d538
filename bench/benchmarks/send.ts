import { benchOf, type Context } from '../bench.ts'
import { compare, contender } from '../compare.ts'
import { createSender, sendOrder, WARM_UP } from '../journeys.ts'
import type { LoadOrder } from '../load.ts'
import { startPeer } from '../peers/install.ts'
import { type Company, numberOf, type Stage } from '../stage.ts'

type Play = Context & { stage: Stage; company: Company; service: LoadOrder }

/** Sends through API, database and sandbox, compared with the peer at the same sandbox. */
export const sendBench = benchOf<Play>(
  async (context) => {
    const stage = await context.setStage()
    const company = await createSender(stage)
    const service = sendOrder(stage, company)
    await stage.load.run({ ...service, ...WARM_UP })
    return { ...context, stage, company, service }
  },
  { peers: measurePeer },
)

/** Each send with a key of its own, 64 in flight and one at a time. */
async function measurePeer(play: Play): Promise<void> {
  const { stage, company, service } = play
  const peer = await startPeer(play, stage, 'send', stage.sandboxUrl, company.senders[0]?.phoneNumberId ?? '')
  if (peer === undefined) return
  for (const concurrency of [64, 1]) {
    const withKey = { ...service, headers: { ...service.headers, 'idempotency-key': 'key-{n}' }, concurrency }
    const toPeer = { ...withKey, path: '/', fits: '"id":"([0-9]+)","wamid":"wamid' }
    const options = { name: `${concurrency} in flight`, halfLoad: concurrency > 1 }
    await compare(play, options, contender(stage, withKey), { 'Fastify+pg': contender(stage, toPeer, peer) })
  }
  // The load saw no message id twice and a wamid in each answer: here, that the database agrees.
  const astray = await numberOf(stage.db<{ value: number }[]>`
    select count(*)::int as value from messages where status <> 'sent' or wamid is null
  `)
  if (astray > 0) throw new Error(`${astray} messages were not sent or have no wamid`)
}
