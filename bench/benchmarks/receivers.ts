import { setTimeout as sleep } from 'node:timers/promises'
import { expireDeliveries } from '../../src/webhooks/deliveries/end-deliveries.ts'
import { benchOf, type Context } from '../bench.ts'
import { type Contender, compare } from '../compare.ts'
import { inboundOrder, type Receiver, startReceiver } from '../journeys.ts'
import { numberOf, type Stage } from '../stage.ts'

const HEALTHY = 15
/** Seventy percent of the receivers of a company are bad. */
const BAD = 35
/** The seconds after which the second attempt is due. */
const DUE_SECONDS = 5

type Play = Context & { stage: Stage; receiver: Receiver }

/** Messages at a constant rate to healthy receivers, by turns for three companies with and without bad ones. */
export const receiversBench = benchOf<Play>(
  async (context) => {
    const stage = await context.setStage({ statements: true, env: { WEBHOOK_ALLOW_PRIVATE: 'true' } })
    return { ...context, stage, receiver: await startReceiver(stage) }
  },
  {
    'never answering': (play) => measureBeside(play, 'never', 2),
    failing: async (play) => {
      await measureBeside(play, 'fail', DUE_SECONDS + 1)
      const value = await numberOf(play.stage.db<{ value: number }[]>`
        select percentile_cont(0.99) within group (order by extract(epoch from delivery_attempts.sent_at - deliveries.created_at))::float as value
        from delivery_attempts
        join deliveries on (deliveries.company_id, deliveries.id) = (delivery_attempts.company_id, delivery_id)
        where attempt = 2
      `)
      play.report({ name: 'second attempts, p99', value, unit: 's', than: { due: DUE_SECONDS }, atMost: 2 })
    },
  },
)

/** `lead`: the seconds of messages before those that are measured. */
async function measureBeside(play: Play, path: string, lead: number): Promise<void> {
  // A round has 40 messages, whose p99 is nearly the slowest one.
  const options = { name: `healthy beside ${BAD} below /${path}`, perSecond: 10, atMost: 1.5, rounds: 8 }
  await compare(play, options, await healthyBeside(play, BAD, path, lead), { alone: await healthyBeside(play, 0) })
}

/** A company with so many bad receivers. Its deliveries are ended after a round, so that no retry runs in the next. */
async function healthyBeside({ stage, receiver }: Play, bad: number, path = '', lead = 1): Promise<Contender> {
  const company = await stage.createCompany()
  for (let i = 0; i < HEALTHY; i += 1) await receiver.register(company, `ok/${i}`)
  for (let i = 0; i < bad; i += 1) await receiver.register(company, `${path}/${i}`)
  const order = { ...inboundOrder(stage, company), perSecond: 10, phones: 100 }
  const run: Contender['run'] = async (load) => {
    await receiver.receive(stage.load.run({ ...order, seconds: lead }), HEALTHY)
    const done = await receiver.receive(stage.load.run({ ...order, ...load, concurrency: 8 }), HEALTHY)
    await endDeliveries(stage, receiver)
    return done
  }
  return { stage, run }
}

/** Expires what is left. Attempts at receivers that never answer end when their connections do. */
async function endDeliveries({ db }: Stage, receiver: Receiver): Promise<void> {
  const countPending = () =>
    numberOf(db<{ value: number }[]>`select count(*)::int as value from deliveries where status = 'pending'`)
  while ((await countPending()) > 0) {
    await receiver.release()
    await expireDeliveries(db, 0, 'expired: the round is over', 1_000)
    await sleep(20)
  }
}
