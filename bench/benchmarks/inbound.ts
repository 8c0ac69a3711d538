import { setTimeout as sleep } from 'node:timers/promises'
import { type Bench, type BenchContext, benchOf } from '../bench.ts'
import { costOf, reasonOf } from '../cost.ts'
import { check, figure, ratioFigure } from '../figure.ts'
import { compareWithInserts, INSERTS } from '../inserts.ts'
import { joinReports, type LoadOrder, requireCleanReport } from '../load.ts'
import { type Company, numberOf, type Sender, type Stage } from '../stage.ts'

const CUSTOMERS = 10_000
const NUMBERS = 8

type Order = Omit<LoadOrder, 'concurrency'>
/** `accepted`: events of a text message each that were answered 200. */
type Play = { context: BenchContext; stage: Stage; company: Company; service: Order; insert: Order; accepted: number }

/** Events as the provider posts them: accepted durably, then handled, compared with a server that inserts each body. */
export const inboundBench: Bench = benchOf(
  async (context, stage) => {
    const company = await stage.createCompany(NUMBERS)
    const { address } = await stage.start('bench/baseline.ts', [stage.databaseUrl])
    const service = inboundOrder(stage, company.senders)
    const play = { context, stage, company, service, insert: { ...service, url: address, path: '/' }, accepted: 0 }
    for (const kind of ['insert', 'service'] as const) await run(play, kind, 64, { seconds: 2 })
    await waitForEnd(stage)
    return play
  },
  { 'while processing': measureBoth, accepting: measureAccepting, backlog: measureBacklog, end: checkWritten },
)

/** Text messages from many customers to these numbers by turns. */
export const inboundOrder = ({ url }: Stage, senders: readonly Sender[]): Order => ({
  url,
  method: 'POST',
  path: '/public/v1/webhooks/whatsapp',
  headers: { 'content-type': 'application/json' },
  body: eventOf('{choice}', '{phone}', 'wamid.T{at}-{n}'),
  phones: CUSTOMERS,
  choices: senders.map(({ phoneNumberId }) => phoneNumberId),
})

/** The body of a provider's webhook with one text message. */
function eventOf(phoneNumberId: string, from: string, wamid: string): string {
  const timestamp = String(Math.floor(Date.now() / 1_000))
  const value = {
    messaging_product: 'whatsapp',
    metadata: { display_phone_number: '390000000000', phone_number_id: phoneNumberId },
    contacts: [{ profile: { name: 'Ada Lovelace' }, wa_id: from }],
    messages: [{ from, id: wamid, timestamp, type: 'text', text: { body: 'Is my order ready?' } }],
  }
  const changes = [{ value, field: 'messages' }]
  return JSON.stringify({ object: 'whatsapp_business_account', entry: [{ id: '200000000000001', changes }] })
}

async function run(play: Play, kind: 'service' | 'insert', concurrency: number, amount: Partial<LoadOrder>) {
  const report = requireCleanReport(kind, await play.stage.load.run({ ...play[kind], concurrency, ...amount }))
  if (kind === 'service') play.accepted += report.answered
  return report
}

/** Accepting while what was accepted is handled, up to the end of the queue. */
async function measureBoth(play: Play): Promise<void> {
  const { report, quick, say } = play.context
  const [events, cost] = await costOf(play.stage, async () => {
    const accepted = await run(play, 'service', 64, { seconds: quick ? 3 : 10 })
    await waitForEnd(play.stage)
    return accepted
  })
  say(reasonOf(cost, events.answered))
  report(figure('accepted while processing, 64 in flight', events.perSecond, 'webhooks/s'))
  report(figure('accepted while processing, p99', events.p99Ms, 'ms'))
  report(figure('accepted and processed to the end of the queue', events.answered / cost.seconds, 'messages/s'))
}

/** Accepting alone. */
async function measureAccepting(play: Play): Promise<void> {
  await play.stage.restart({ ROLE: 'api' })
  // The baseline has run before; this process has just been started.
  await run(play, 'service', 64, { seconds: 4 })
  for (const concurrency of [64, 256]) {
    const orders = { service: { ...play.service, concurrency }, insert: { ...play.insert, concurrency } }
    const what = { name: `accepted, ${concurrency} in flight`, unit: 'webhooks/s', ...orders }
    play.accepted += await compareWithInserts(play, what, { atLeast: 1, p99AtMost: 1 })
  }
}

/** A queue that was filled while nothing handled it, then handled with nothing else to do. */
async function measureBacklog(play: Play): Promise<void> {
  const { context, stage } = play
  const [seconds, requests] = context.quick ? [1, 20_000] : [3, 60_000]
  await stage.restart({ ROLE: 'api' })
  const inserts = [await run(play, 'insert', 64, { seconds })]
  await run(play, 'service', 256, { requests })
  await stage.restart({ ROLE: 'worker' })
  const waiting = await numberOf(stage.db<{ value: number }[]>`select count(*)::int as value from inbound_events`)
  const [, cost] = await costOf(stage, () => waitForEnd(stage))
  context.say(`${waiting} of ${requests} waited when the worker had started`)
  await stage.restart()
  inserts.push(await run(play, 'insert', 64, { seconds }))
  const compared = { baseline: INSERTS, baselineValue: joinReports(inserts).perSecond }
  const goal = { atLeast: 1, limitedBy: reasonOf(cost, waiting) }
  const what = 'processed to the end of a waiting queue'
  context.report(ratioFigure(what, waiting / cost.seconds, 'messages/s', compared, goal))
}

/** The end of the queue, seen from outside as often as costs nothing. */
export async function waitForEnd({ db }: Stage): Promise<void> {
  while ((await numberOf(db<{ value: number }[]>`select exists (select from inbound_events)::int as value`)) > 0) {
    await sleep(50)
  }
}

async function checkWritten({ context: { report }, stage, company: { companyId }, accepted }: Play): Promise<void> {
  await waitForEnd(stage)
  const [row] = await stage.db<[{ messages: number; doubled: number; miscounted: number; deadLetters: number }]>`
    select
      count(*)::int as messages,
      (count(*) - count(distinct wamid))::int as doubled,
      abs(count(*) - (select sum(message_count) from conversations where company_id = ${companyId}))::int as miscounted,
      (select count(*) from inbound_items)::int as dead_letters
    from messages
    where company_id = ${companyId}
  `
  report(check('accepted events that are no message', Math.abs(accepted - row.messages), 'events'))
  report(check('messages more or less than their conversations count', row.miscounted, 'messages'))
  report(check('messages with the wamid of another', row.doubled, 'messages'))
  report(check('items dead-lettered', row.deadLetters, 'items'))
}
