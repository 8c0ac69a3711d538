import { setTimeout as sleep } from 'node:timers/promises'
import type { Company } from './company.ts'
import { type Counts, count } from './counters.ts'
import { startEarlyAnswers } from './early-answers.ts'
import type { Acknowledged, Bounds } from './evidence.ts'
import { longestGap } from './gap.ts'
import { customers, postInbound } from './inbound-load.ts'
import { sendKeyed } from './keyed-load.ts'
import { gather, untilQuiet } from './observe.ts'
import type { Plan } from './plan.ts'
import type { Loss } from './postgres.ts'
import type { Processes } from './processes.ts'
import { createProgress, type Progress } from './progress.ts'
import { createRandom, type Random } from './random.ts'
import { onStage, type Stage } from './stage.ts'

const LONGEST_PAUSE_MS = 1_500

export type Say = (line: string) => void

/** One run: load and faults at the same time, then silence, then what both sides saw is counted. */
export function run(plan: Plan, say: Say): Promise<Counts> {
  const random = createRandom(plan.seed)
  const { processesOfRole, sends, mails } = plan
  return onStage({ processesOfRole, keptMessages: 2 * (sends + mails) + 1_000 }, random, async (stage, undo) => {
    say('the service runs: load and faults begin')
    const progress = createProgress(faultsOf(plan).length)
    const gapsMs: number[] = []
    const making = makeFaults(stage, plan, random, progress, say, gapsMs)
    const loading = load({ ...stage, plan, random, progress, undo })
    const [evidence] = await Promise.all([loading, making])
    say(
      `${evidence.acknowledged.length} messages, ${evidence.sends.length} sends, ${evidence.mails.length} mails: waiting`,
    )
    await untilQuiet(stage.postgres)
    for (const { text, outcome, answers } of [...evidence.sends, ...evidence.mails]) {
      if (outcome === 'unanswered') say(`${text} has no outcome: ${answers.join(', ')}`)
    }
    const bounds = boundsOf(plan, stage.receivers.delivered.length)
    return count(await gather({ ...evidence, ...stage, delivered: stage.receivers.delivered, gapsMs, bounds }))
  })
}

type Loading = {
  plan: Plan
  companies: Company[]
  random: Random
  progress: Progress
  processes: Processes
  undo: (() => unknown)[]
}

async function load({ plan, companies, random, progress, processes, undo }: Loading) {
  const { addresses } = processes
  const early = plan.answersEarly ? await startEarlyAnswers(addresses, random) : undefined
  if (early) undo.push(early.stop)
  const acknowledged: Acknowledged[] = []
  const posted = new Set<string>()
  const common = { addresses, companies, random, progress }
  const target = early ? [early.url] : addresses
  const inbound = postInbound({ ...common, addresses: target, total: plan.inbound, posted }, acknowledged)
  const sends = sendKeyed(
    {
      ...common,
      total: plan.sends,
      path: '/public/v1/templates/whatsapp/send',
      recipients: customers(),
      bodyOf: (recipient, text) => ({ type: 'text', recipient, text }),
      idOf: (body) => body?.data?.messageId ?? body?.messageId ?? body?.data?.id,
    },
    'send',
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
  return { acknowledged, posted, sends: await sends, mails: await mails }
}

/** Sends that each fault may leave unknown: those in flight. Mails: those that a worker had submitted. */
const UNKNOWN_SENDS = 6
const FAILED_MAILS = 20
/** Five refusals in a row are that rare; one is explained in any run. */
const DEAD_SHARE = 0.000_1

function boundsOf(plan: Plan, delivered: number): Bounds {
  const faults = faultsOf(plan).length
  return {
    dead: 1 + Math.floor(delivered * DEAD_SHARE),
    unknownSends: faults * UNKNOWN_SENDS,
    failedMails: faults * FAILED_MAILS,
    gapMs: plan.longestGapMs,
  }
}

type Fault = 'kill' | 'terminate' | 'restart' | 'promote' | 'roll' | 'fill'

const faultsOf = (plan: Plan): Fault[] => [
  ...Array<Fault>(plan.kills).fill('kill'),
  ...Array<Fault>(plan.terminations).fill('terminate'),
  ...Array<Fault>(plan.databaseRestarts).fill('restart'),
  ...Array<Fault>(plan.promotions).fill('promote'),
  ...Array<Fault>(plan.rollingRestarts).fill('roll'),
  ...Array<Fault>(plan.fullDisks).fill('fill'),
]

/** All faults, one after the other, in an order that the seed repeats. */
async function makeFaults(
  stage: Stage,
  plan: Plan,
  random: Random,
  progress: Progress,
  say: Say,
  gapsMs: number[],
): Promise<void> {
  const faults = random.shuffle(faultsOf(plan))
  for (const [index, fault] of faults.entries()) {
    await sleep(random.below(LONGEST_PAUSE_MS))
    say(`fault ${index + 1} of ${faults.length}: ${fault}`)
    const isOdd = faults.slice(0, index).filter((one) => one === fault).length % 2 === 0
    await make(fault, stage, random, isOdd, say, gapsMs)
    progress.done()
  }
  await stage.processes.started()
  progress.over()
}

/** `isOdd`: the first, third … of its kind. Kills, restarts and promotions take two forms in turn. */
async function make(
  fault: Fault,
  stage: Stage,
  random: Random,
  isOdd: boolean,
  say: Say,
  gapsMs: number[],
): Promise<void> {
  const { postgres, processes } = stage
  switch (fault) {
    case 'kill':
      return processes.kill(isOdd ? 'api' : 'worker')
    case 'terminate':
      return postgres.terminate(1 + random.below(3))
    case 'restart':
      return postgres.restart(isOdd)
    case 'roll':
      return processes.roll()
    case 'fill':
      if (!(await postgres.fillDisk())) say('left out: this user cannot mount a disk for the database')
      return
    case 'promote':
      await postgres.addStandby()
      await sleep(LONGEST_PAUSE_MS)
      gapsMs.push(await promote(stage, isOdd ? 'freeze' : 'kill', say))
  }
}

async function promote({ postgres, processes, companies }: Stage, loss: Loss, say: Say): Promise<number> {
  const gapMs = await longestGap(processes.addresses, companies[0]?.token ?? '', postgres.promote(loss))
  say(`promoted after a ${loss}: no process answered a read for ${(gapMs / 1_000).toFixed(1)} s`)
  return gapMs
}
