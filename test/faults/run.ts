import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts'
import { type Company, createCompany } from './company.ts'
import { type Counts, count } from './counters.ts'
import { startEarlyAnswers } from './early-answers.ts'
import type { Heard } from './evidence.ts'
import { customers, postInbound } from './inbound-load.ts'
import { sendKeyed } from './keyed-load.ts'
import { gather, untilQuiet } from './observe.ts'
import { createPace, type Pace } from './pace.ts'
import type { Plan } from './plan.ts'
import { type Postgres, startPostgres } from './postgres.ts'
import { type Processes, startProcesses } from './processes.ts'
import { createRandom, type Random } from './random.ts'
import { startReceivers } from './receivers.ts'

const ADMIN_TOKEN = randomBytes(24).toString('hex')
const COMPANIES = 2
const LONGEST_PAUSE_MS = 1_500

export type Say = (line: string) => void
type Stage = { postgres: Postgres; processes: Processes; sandbox: Sandbox }

/** One run: load and faults at the same time, then silence, then what both sides saw is counted. */
export async function run(plan: Plan, say: Say): Promise<Counts> {
  const random = createRandom(plan.seed)
  const folder = mkdtempSync(join(tmpdir(), 'parley-faults-'))
  const undo: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })]
  try {
    const postgres = await startPostgres()
    undo.push(postgres.stop)
    const sandbox = await startSandbox({ autoStatus: false, messageLimit: 2 * (plan.sends + plan.mails) + 1_000 })
    undo.push(sandbox.stop)
    const receivers = await startReceivers(random)
    undo.push(receivers.stop)
    const env = environment(postgres.url, sandbox.smtpUrl, folder)
    const processes = await startProcesses(plan.processesOfRole, env, random)
    undo.push(processes.stop)
    const place = { addresses: processes.addresses, adminToken: ADMIN_TOKEN, random }
    const companies: Company[] = []
    for (let index = 0; index < COMPANIES; index += 1) {
      companies.push(await createCompany({ ...place, sandboxUrl: sandbox.url, receiversUrl: receivers.url }, index))
    }
    say('the service runs: load and faults begin')
    const pace = createPace(faultsOf(plan).length)
    const making = makeFaults({ postgres, processes, sandbox }, plan, random, pace, say)
    const loading = load({ plan, companies, random, pace, processes, undo })
    const [evidence] = await Promise.all([loading, making])
    say(`${evidence.heard.length} messages, ${evidence.sends.length} sends, ${evidence.mails.length} mails: waiting`)
    await untilQuiet(postgres)
    for (const { text, outcome, answers } of [...evidence.sends, ...evidence.mails]) {
      if (outcome === 'unanswered') say(`${text} has no outcome: ${answers.join(', ')}`)
    }
    return count(await gather({ ...evidence, postgres, sandbox, companies, delivered: receivers.delivered, processes }))
  } finally {
    for (const step of undo.reverse()) await step()
  }
}

const environment = (databaseUrl: string, smtpUrl: string, folder: string): Record<string, string> => ({
  DATABASE_URL: databaseUrl,
  DATA_DIR: folder,
  NODE_COMPILE_CACHE: join(folder, 'compiled'),
  SANDBOX: 'off',
  SMTP_URL: smtpUrl,
  SESSION_WINDOW: 'provider',
  WEBHOOK_ALLOW_PRIVATE: 'true',
  ADMIN_TOKEN,
  ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  LOG_LEVEL: 'fatal',
})

type Loading = {
  plan: Plan
  companies: Company[]
  random: Random
  pace: Pace
  processes: Processes
  undo: (() => unknown)[]
}

async function load({ plan, companies, random, pace, processes, undo }: Loading) {
  const { addresses } = processes
  const early = plan.answersEarly ? await startEarlyAnswers(addresses, random) : undefined
  if (early) undo.push(early.stop)
  const heard: Heard[] = []
  const common = { addresses, companies, random, pace }
  const inbound = postInbound({ ...common, addresses: early ? [early.url] : addresses, wanted: plan.inbound }, heard)
  const sends = sendKeyed(
    {
      ...common,
      wanted: plan.sends,
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
      wanted: plan.mails,
      path: '/public/v1/emails',
      recipients: customers().map((customer) => `c${customer}@example.com`),
      bodyOf: (to, subject) => ({ to, subject, html: '<p>Hello</p>', from: 'shop@example.org' }),
      idOf: (body) => body?.data?.id,
    },
    'mail',
  )
  await inbound
  return { heard, sends: await sends, mails: await mails }
}

type Fault = 'kill' | 'terminate' | 'restart' | 'promote' | 'roll'

const faultsOf = (plan: Plan): Fault[] => [
  ...Array<Fault>(plan.kills).fill('kill'),
  ...Array<Fault>(plan.terminations).fill('terminate'),
  ...Array<Fault>(plan.databaseRestarts).fill('restart'),
  ...Array<Fault>(plan.promotions).fill('promote'),
  ...Array<Fault>(plan.rollingRestarts).fill('roll'),
]

/** All faults, one after the other, in an order that the seed repeats. */
async function makeFaults(stage: Stage, plan: Plan, random: Random, pace: Pace, say: Say): Promise<void> {
  const faults = random.shuffle(faultsOf(plan))
  for (const [index, fault] of faults.entries()) {
    await sleep(random.below(LONGEST_PAUSE_MS))
    say(`fault ${index + 1} of ${faults.length}: ${fault}`)
    const isOdd = faults.slice(0, index).filter((one) => one === fault).length % 2 === 0
    await make(fault, stage, random, isOdd)
    pace.done()
  }
  await stage.processes.started()
  pace.over()
}

/** `isOdd`: the first, third … of its kind. Kills, restarts and promotions take two forms in turn. */
async function make(fault: Fault, { postgres, processes }: Stage, random: Random, isOdd: boolean): Promise<void> {
  switch (fault) {
    case 'kill':
      return processes.kill(isOdd ? 'api' : 'worker')
    case 'terminate':
      return postgres.terminate(1 + random.below(3))
    case 'restart':
      return postgres.restart(isOdd)
    case 'roll':
      return processes.roll()
    case 'promote':
      await postgres.addStandby()
      await sleep(LONGEST_PAUSE_MS)
      return postgres.promote(isOdd ? 'freeze' : 'kill')
  }
}
