import { setTimeout as sleep } from 'node:timers/promises'
import { expiredMessage } from '../../src/webhooks/attempts/schedule.ts'
import { expireDeliveries } from '../../src/webhooks/deliveries/delivery-end-store.ts'
import { benchOf, type Context } from '../bench.ts'
import { check } from '../figure.ts'
import { inboundOrder, startReceiver } from '../journeys.ts'
import { numberOf, type Stage, untilNone } from '../stage.ts'

/** Messages in a second, to the companies by turns. */
const PER_SECOND = 50
/** The receivers of each company. Seven of ten are bad: they answer 500, close the connection, or never answer. */
const RECEIVERS = [
  ['ok', 'fail'],
  ['ok', 'fail'],
  ['ok', 'fail'],
  ['break', 'never'],
  ['break', 'never'],
] as const
const DEADLINE_HOURS = 1
/** When attempts 2 to 5 are due after the delivery was created: the waits of 5, 10, 20 and 40 s, added up. */
const DUE_SECONDS = [5, 15, 35, 75]

type Play = Context & { stage: Stage }

/**
 * Messages at a constant rate to companies of whose receivers 70 % are bad: then waits until no delivery is left to try,
 * compares the times of the attempts with the schedule, and ends the rest as its deadline does.
 */
export const scheduleBench = benchOf<Play>(
  async (context) => {
    const env = { WEBHOOK_ALLOW_PRIVATE: 'true', DELIVERY_DEADLINE_HOURS: String(DEADLINE_HOURS) }
    return { ...context, stage: await context.setStage({ env }) }
  },
  { attempts: measureAttempts },
)

async function measureAttempts({ quick, report, say, stage }: Play): Promise<void> {
  const receiver = await startReceiver(stage)
  const companies = await Promise.all(RECEIVERS.map(() => stage.createCompany()))
  for (const [i, company] of companies.entries()) {
    for (const name of RECEIVERS[i] ?? []) await receiver.register(company, `${name}/${i}`, { name })
  }
  const seconds = 60 * Number(process.env.MINUTES ?? (quick ? 0.2 : 1))
  const order = { ...inboundOrder(stage, ...companies), phones: 1_000, concurrency: 32 }
  await stage.load.run({ ...order, perSecond: PER_SECOND, seconds })
  say(`${seconds} seconds of messages are posted`)
  await untilNone(stage, `select ${DELIVERIES} where name <> 'never' and deliveries.status = 'pending'`, 1_000)
  await reportWaits({ report, say, stage })
  await expireRest(stage)
  const unfinished = await countUnfinished(stage)
  report(check('deliveries that are neither answered 2xx, dead nor expired', unfinished))
  const [row] = await stage.db.unsafe<[{ ms: number }]>(
    `select 1000 * percentile_cont(0.99) within group (order by extract(epoch from sent_at - deliveries.created_at)) as ms
     ${DELIVERIES} where name = 'ok'`,
  )
  report({ name: 'deliveries to healthy receivers, p99', value: row.ms, unit: 'ms' })
}

const DELIVERIES = `
  from deliveries
  join registrations
    on (registrations.company_id, registrations.id) = (deliveries.company_id, deliveries.registration_id)
`

/** The p99 of the time from the making of a delivery until each attempt, of the kind of receiver for which it is largest. */
async function reportWaits({ report, say, stage }: Pick<Play, 'report' | 'say' | 'stage'>): Promise<void> {
  const waits = await stage.db.unsafe<{ name: string; attempt: number; p99: number }[]>(
    `select
       name, attempt,
       percentile_cont(0.99) within group (
         order by extract(epoch from delivery_attempts.sent_at - deliveries.created_at)
       ) as p99
     ${DELIVERIES}
     join delivery_attempts on (delivery_attempts.company_id, delivery_id) = (deliveries.company_id, deliveries.id)
     where name in ('fail', 'break') and attempt > 1
     group by name, attempt
     order by attempt, name`,
  )
  const reason = waits.map(({ name, attempt, p99 }) => `attempt ${attempt} ${name} ${p99.toFixed(1)} s`).join(', ')
  say(reason)
  const late = waits
    .map((wait) => ({ ...wait, due: DUE_SECONDS[wait.attempt - 2] ?? Number.NaN }))
    .toSorted((a, b) => b.p99 / b.due - a.p99 / a.due)
  const { p99: value, due, attempt } = late[0] ?? { p99: Number.NaN, due: Number.NaN, attempt: 0 }
  const than = { [`due, attempt ${attempt}`]: due }
  report({ name: 'attempts 2 to 5: p99 of the latest', value, unit: 's', than, atMost: 2, reason })
}

/** Expires deliveries to receivers that never answer as the sweep does, without the hour until their deadline. */
async function expireRest(stage: Stage): Promise<void> {
  while ((await countUnfinished(stage)) > 0) {
    const expired = await expireDeliveries(stage.db, 0, expiredMessage(DEADLINE_HOURS), 1_000)
    // The others are in flight, until the limit of an attempt.
    if (expired.length === 0) await sleep(1_000)
  }
}

const countUnfinished = ({ db }: Stage): Promise<number> =>
  numberOf(db<{ value: number }[]>`
    select count(*)::integer as value from deliveries where status not in ('delivered', 'dead')
  `)
