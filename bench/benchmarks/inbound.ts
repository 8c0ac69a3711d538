import { benchOf, type Context } from '../bench.ts'
import { compare } from '../compare.ts'
import { costOf, reasonOf } from '../cost.ts'
import { check } from '../figure.ts'
import { inboundOrder, untilHandled, WARM_UP } from '../journeys.ts'
import type { LoadOrder } from '../load.ts'
import { peersAreInstalled } from '../peers/install.ts'
import type { Program } from '../process.ts'
import { type Company, numberOf, type Stage } from '../stage.ts'

/** `accepted`: events that were answered 200. `insert`: a server that inserts each body by itself. */
type Play = Context & { stage: Stage; company: Company; insert: Program | undefined; accepted: number }

/** Events as the provider posts them: accepted durably, then handled, compared with a server that inserts each body. */
export const inboundBench = benchOf<Play>(
  async (context) => {
    const stage = await context.setStage()
    const company = await stage.createCompany(8)
    const insert = peersAreInstalled(context)
      ? await stage.start('bench/peers/insert.ts', [stage.databaseUrl])
      : undefined
    const play = { ...context, stage, company, insert, accepted: 0 }
    await accept(play, WARM_UP)
    await untilHandled(stage)
    return play
  },
  { accepting: measureAccepting, backlog: measureBacklog },
  checkWritten,
)

async function accept(play: Play, load: Partial<LoadOrder>) {
  const report = await play.stage.load.run({ ...inboundOrder(play.stage, play.company), ...load })
  play.accepted += report.count
  return report
}

const insertMany = ({ stage, company, insert }: Play, load: Partial<LoadOrder>) =>
  stage.load.run({ ...inboundOrder(stage, company), url: insert?.address ?? '', path: '/', ...load })

/** Accepting alone. */
async function measureAccepting(play: Play): Promise<void> {
  const { stage, insert } = play
  if (insert === undefined) return
  await stage.restart({ ROLE: 'api' })
  await accept(play, { seconds: 2 })
  const peer = { pids: [insert.pid], run: (load: Partial<LoadOrder>) => insertMany(play, load) }
  const parley = { run: (load: Partial<LoadOrder>) => accept(play, load) }
  await compare(play, { stage, name: 'accepted' }, parley, { 'an insert each': peer })
}

/** A queue that was filled while nothing handled it, then handled with nothing else to do. */
async function measureBacklog(play: Play): Promise<void> {
  const { quick, report, stage, insert } = play
  await stage.restart({ ROLE: 'api' })
  await accept(play, { requests: quick ? 15_000 : 50_000, concurrency: 256 })
  await stage.restart({ ROLE: 'worker' })
  const waiting = await numberOf(stage.db<{ value: number }[]>`select count(*)::int as value from inbound_events`)
  const [, cost] = await costOf(stage, () => untilHandled(stage))
  await stage.restart()
  const value = waiting / cost.seconds
  const than = insert && { 'an insert each': (await insertMany(play, { seconds: quick ? 2 : 4 })).perSecond }
  const goal = than && { than, atLeast: 1 }
  report({ name: 'processed of a waiting queue', value, unit: '/s', ...goal, reason: reasonOf(cost, waiting) })
}

async function checkWritten({ report, stage, company: { companyId }, accepted }: Play): Promise<void> {
  await untilHandled(stage)
  const [row] = await stage.db<[{ messages: number; doubled: number; miscounted: number; deadLetters: number }]>`
    select
      count(*)::int as messages,
      (count(*) - count(distinct wamid))::int as doubled,
      abs(count(*) - (select sum(message_count) from conversations where company_id = ${companyId}))::int as miscounted,
      (select count(*) from inbound_items)::int as dead_letters
    from messages
    where company_id = ${companyId}
  `
  report(check('accepted events that are no message', Math.abs(accepted - row.messages)))
  report(check('messages more or less than their conversations count', row.miscounted))
  report(check('messages with the wamid of another', row.doubled))
  report(check('items dead-lettered', row.deadLetters))
}
