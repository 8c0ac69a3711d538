import { setTimeout as sleep } from 'node:timers/promises'
import { expiredMessage } from '../../src/webhooks/attempts/schedule.ts'
import { expireDeliveries } from '../../src/webhooks/deliveries/delivery-end-store.ts'
import { type Bench, type BenchContext, benchOf } from '../bench.ts'
import { check, figure, ratioFigure } from '../figure.ts'
import { requireCleanReport } from '../load.ts'
import { numberOf, register, type Stage } from '../stage.ts'
import { inboundOrder } from './inbound.ts'

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

/**
 * Messages at a constant rate to companies of whose receivers 70 % are bad, for ten minutes (a minute with `--quick`): then
 * waits until no delivery is left to try, compares the times of the attempts with the schedule, and ends the rest as its
 * deadline does.
 */
export const scheduleBench: Bench = benchOf(async (context, stage) => ({ context, stage }), {
  attempts: measureAttempts,
})

type Play = { context: BenchContext; stage: Stage }

async function measureAttempts({ context: { quick, report, say }, stage }: Play): Promise<void> {
  await stage.restart({ WEBHOOK_ALLOW_PRIVATE: 'true', DELIVERY_DEADLINE_HOURS: String(DEADLINE_HOURS) })
  const { address: receiverUrl } = await stage.start('bench/receiver.ts', [])
  const companies = await Promise.all(RECEIVERS.map(() => stage.createCompany(1)))
  for (const [i, company] of companies.entries()) {
    for (const name of RECEIVERS[i] ?? []) await register(stage, company, { name, url: `${receiverUrl}/${name}/${i}` })
  }
  const seconds = 60 * Number(process.env.MINUTES ?? (quick ? 1 : 10))
  const senders = companies.flatMap((company) => company.senders)
  const messages = { ...inboundOrder(stage, senders), phones: 1_000, concurrency: 32, perSecond: PER_SECOND, seconds }
  requireCleanReport('webhooks', await stage.load.run(messages))
  say(`${seconds} seconds of messages are posted`)
  await untilFinished(stage, say)
  for (const kind of ['fail', 'break'] as const) {
    for (const [index, dueSeconds] of DUE_SECONDS.entries()) {
      const { p50, p99 } = await waitsOf(stage, kind, index + 2)
      const what = `attempt ${index + 2} at receivers of the kind ${kind}, due after ${dueSeconds} s`
      report(figure(`${what}, p50`, p50, 's'))
      report(ratioFigure(`${what}, p99`, p99, 's', { baseline: 'due', baselineValue: dueSeconds }, { atMost: 2 }))
    }
  }
  await expireRest(stage)
  for (const { kind, status, count } of await statusesOf(stage)) {
    report(figure(`deliveries to receivers of the kind ${kind}: ${status}`, count, ''))
  }
  const unfinished = await countUnfinished(stage)
  report(check('deliveries that are neither answered 2xx, dead nor expired', unfinished, 'deliveries'))
  const healthy = await waitsOf(stage, 'ok', 1)
  report(figure('deliveries to healthy receivers, p50', healthy.p50 * 1_000, 'ms'))
  report(figure('deliveries to healthy receivers, p99', healthy.p99 * 1_000, 'ms'))
}

/** Waits until only deliveries to receivers that never answer are left: their deadline ends them. */
async function untilFinished(stage: Stage, say: (text: string) => void): Promise<void> {
  for (;;) {
    const statuses = await statusesOf(stage)
    const left = statuses.filter(({ kind, status }) => kind !== 'never' && status === 'pending')
    if (left.length === 0) return
    say(statuses.map(({ kind, status, count }) => `${kind} ${status} ${count}`).join(', '))
    await sleep(10_000)
  }
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

/** Dead deliveries whose last attempt in the log says so are expired. */
const statusesOf = (stage: Stage) =>
  stage.db<{ kind: string; status: string; count: number }[]>`
    select
      registration.name as kind,
      case
        when delivery.status = 'dead' and exists (
          select from delivery_attempts attempt
          where (attempt.company_id, attempt.delivery_id) = (delivery.company_id, delivery.id)
            and attempt.error_message like 'expired%'
        ) then 'expired'
        else delivery.status
      end as status,
      count(*)::integer as count
    from deliveries delivery
    join registrations registration
      on (registration.company_id, registration.id) = (delivery.company_id, delivery.registration_id)
    group by 1, 2
    order by 1, 2
  `

/** From the making of deliveries until this attempt, in seconds. */
async function waitsOf(stage: Stage, kind: string, attempt: number): Promise<{ p50: number; p99: number }> {
  const [row] = await stage.db<[{ p50: number | null; p99: number | null }]>`
    select
      percentile_cont(0.5) within group (order by extract(epoch from attempts.sent_at - delivery.created_at)) as p50,
      percentile_cont(0.99) within group (order by extract(epoch from attempts.sent_at - delivery.created_at)) as p99
    from (
      select company_id, delivery_id, attempt, sent_at from delivery_attempts
      union all
      select company_id, id, 1, sent_at from deliveries where sent_at is not null
    ) as attempts
    join deliveries delivery on (delivery.company_id, delivery.id) = (attempts.company_id, attempts.delivery_id)
    join registrations registration
      on (registration.company_id, registration.id) = (delivery.company_id, delivery.registration_id)
    where registration.name = ${kind} and attempts.attempt = ${attempt}
  `
  return { p50: row.p50 ?? Number.NaN, p99: row.p99 ?? Number.NaN }
}
