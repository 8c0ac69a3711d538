import { setTimeout as sleep } from 'node:timers/promises'
import { type Counts, count } from './counters.ts'
import type { Database } from './database/database.ts'
import type { Acknowledged, Bounds } from './evidence.ts'
import type { Fault, Say, Site } from './fault.ts'
import type { Company } from './load/company.ts'
import { startEarlyAnswers } from './load/early-answers.ts'
import { customers, postInbound } from './load/inbound-load.ts'
import { sendKeyed } from './load/keyed-load.ts'
import { createProgress, type Progress } from './load/progress.ts'
import { gather, makeScheduledDue, untilQuiet } from './observe.ts'
import type { LoadPlan } from './plan.ts'
import type { Processes } from './processes.ts'
import { createRandom, type Random } from './random.ts'
import { onStage, type Start } from './stage.ts'

const LONGEST_PAUSE_MS = 1_500
/** Longer than a run with its clock steps: the run itself lets the time of scheduled messages come. */
const AHEAD_MS = 20 * 24 * 3_600_000

/** The counts of a run, and the error lines of its processes, which explain them. */
export type Ran = { counts: Counts; errors: string[] }

/** One run: load and faults at the same time, then silence, then what both sides saw is counted. */
export function run<Used extends Database>(
  plan: LoadPlan,
  startDatabase: () => Promise<Used>,
  faults: readonly Fault<Used>[],
  say: Say,
  start: Start = {},
): Promise<Ran> {
  const random = createRandom(plan.seed)
  const { processesOfRole, sends, scheduled, mails } = plan
  const size = { ...start, startDatabase, processesOfRole, keptMessages: 2 * (sends + scheduled + mails) + 1_000 }
  return onStage(size, random, async (stage, undo) => {
    say('the service runs: load and faults begin')
    const progress = createProgress(faults.length)
    const gapsMs: number[] = []
    const quietly = <Result>(act: () => Promise<Result>) =>
      progress.holding(async () => {
        await stage.processes.started()
        await untilQuiet(stage.database)
        return await act()
      })
    const making = makeFaults(faults, { stage, random, say, gapsMs, quietly }, progress)
    const over = new AbortController()
    const makingDue = makeScheduledDue(stage.database, over.signal)
    const loading = load({ ...stage, plan, random, progress, undo })
    const [evidence] = await Promise.all([loading, making])
    say(
      `${evidence.acknowledged.length} messages, ${evidence.sends.length} sends, ${evidence.scheduled.length} scheduled, ${evidence.mails.length} mails: waiting`,
    )
    await untilQuiet(stage.database)
    over.abort()
    await makingDue
    for (const { text, outcome, answers } of [...evidence.sends, ...evidence.scheduled, ...evidence.mails]) {
      if (outcome === 'unanswered') say(`${text} has no outcome: ${answers.join(', ')}`)
    }
    const bounds = boundsOf(plan, faults.length, stage.receivers.delivered.length)
    const delivered = stage.receivers.delivered
    const counts = count(await gather({ ...evidence, ...stage, delivered, gapsMs, bounds }))
    return { counts, errors: stage.processes.errors() }
  })
}

type Loading = {
  plan: LoadPlan
  database: Database
  companies: Company[]
  random: Random
  progress: Progress
  processes: Processes
  undo: (() => unknown)[]
}

async function load({ plan, database, companies, random, progress, processes, undo }: Loading) {
  const { addresses } = processes
  const early = plan.answersEarly ? await startEarlyAnswers(addresses, random) : undefined
  if (early) undo.push(early.stop)
  const acknowledged: Acknowledged[] = []
  const posted = new Set<string>()
  const common = { addresses, companies, random, progress }
  const target = early ? [early.url] : addresses
  const inbound = postInbound({ ...common, addresses: target, total: plan.inbound, posted }, acknowledged)
  const sending = { ...common, path: '/public/v1/templates/whatsapp/send', recipients: customers() }
  const sends = sendKeyed(
    {
      ...sending,
      total: plan.sends,
      bodyOf: (recipient, text) => ({ type: 'text', recipient, text }),
      idOf: (body) => body?.data?.messageId ?? body?.messageId ?? body?.data?.id,
    },
    'send',
  )
  const [clock] = await database.ask((db) => db<[{ now: Date }]>`select now() as now`)
  const sendAt = new Date(clock.now.getTime() + AHEAD_MS).toISOString()
  const scheduled = sendKeyed(
    {
      ...sending,
      total: plan.scheduled,
      bodyOf: (recipient, text) => ({ type: 'text', recipient, text, sendAt }),
      idOf: (body) => body?.data?.id,
    },
    'scheduled',
  )
  const mails = sendKeyed(
    {
      ...common,
      total: plan.mails,
      path: '/public/v1/emails',
      recipients: customers().map((customer) => `c${customer}@example.com`),
      bodyOf: (to, subject) => ({ to, subject, html: '<p>Hello</p>', from: 'shop@example.org' }),
      idOf: (body) => body?.data?.id,
    },
    'mail',
  )
  await inbound
  return { acknowledged, posted, sends: await sends, scheduled: await scheduled, mails: await mails }
}

/** Sends that each fault may leave unknown: those in flight. Mails: those that a worker had submitted. */
const UNKNOWN_SENDS = 6
const FAILED_MAILS = 20
/** In flight: of each of two companies, over all processes. */
const UNKNOWN_SCHEDULED = 40
/** Five refusals in a row are that rare; one is explained in any run. */
const DEAD_SHARE = 0.000_1

function boundsOf(plan: LoadPlan, faults: number, delivered: number): Bounds {
  return {
    dead: 1 + Math.floor(delivered * DEAD_SHARE),
    unknownSends: faults * UNKNOWN_SENDS,
    unknownScheduled: faults * UNKNOWN_SCHEDULED,
    failedMails: faults * FAILED_MAILS,
    gapMs: plan.longestGapMs,
  }
}

/** All faults, one after the other, in an order that the seed repeats. */
async function makeFaults<Used extends Database>(
  faults: readonly Fault<Used>[],
  site: Omit<Site<Used>, 'turn'>,
  progress: Progress,
): Promise<void> {
  const { stage, random, say } = site
  const order = random.shuffle([...faults])
  for (const [index, fault] of order.entries()) {
    await sleep(random.below(LONGEST_PAUSE_MS))
    say(`fault ${index + 1} of ${order.length}: ${fault.name}`)
    await fault.make({ ...site, turn: order.slice(0, index).filter(({ name }) => name === fault.name).length })
    progress.done()
  }
  await stage.processes.started()
  progress.over()
}
