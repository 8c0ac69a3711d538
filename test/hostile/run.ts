import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { residentMegabytes, setIdle } from '../../bench/process.ts'
import { MOST_BYTES_IN_FLIGHT } from '../../src/http/body/body-budget.ts'
import { ANSWER_BOUNDS } from '../../src/http/connections/waiting-answers.ts'
import { attackArchives } from './attacks/archives.ts'
import { attackBrowserKeys } from './attacks/browser-keys.ts'
import { createBulkWork } from './attacks/bulk-work.ts'
import { type Attack, createCostAttacks } from './attacks/cost.ts'
import { askForForeign } from './attacks/foreign-ids.ts'
import { fuzz } from './attacks/fuzz.ts'
import { createInboundAttack } from './attacks/inbound.ts'
import { fillStorage, signInOften } from './attacks/kept.ts'
import { sendMalformed } from './attacks/raw-http.ts'
import { attackReceivers, attackRedeliveries, removeReceivers } from './attacks/receivers.ts'
import { attackRoles } from './attacks/roles.ts'
import { createStrangers } from './attacks/strangers.ts'
import { createClient, paced, patient, type Secrets } from './client.ts'
import { createHealthyCompany, type HealthyCompany, INTERVAL_MS } from './healthy.ts'
import { type Operation, readContract } from './operation.ts'
import { createRandom } from './random.ts'
import { BUSY_MACHINE, createTally, isUndisturbed, latenciesOf, type Measured, type Tally } from './tally.ts'
import { createWorld, FOREIGN_MARK, type World, type WorldOptions } from './world.ts'

/**
 * Maximum memory growth of the service: three times the bytes in flight, for bodies with their text and parsed form, and for
 * waiting answers, where a burst precedes the budget check. Like every bound of these attacks it is a count or a
 * ratio, and holds on a machine of any speed; the only durations are deadlines that end a hang (test/hostile/until-found.ts).
 * How much longer healthy calls take under each attack is printed.
 */
const MOST_GROWTH_BYTES = 3 * (MOST_BYTES_IN_FLIGHT + ANSWER_BOUNDS.budget)

/** The address of the calls before the attacks: it has limits of its own. */
const FIRST_CALLER = '127.0.0.7'
const MISSING = '987654321012'

/**
 * Requests a second of attackers with keys and sessions, while delays are judged: more than the limits of a company allow, whose
 * keys may send 100 requests a minute by default, and a session 600.
 */
const LIMITED_PER_SECOND = 20

/** Calls under an attack that can be repeated are measured by turns with calls without one. */
const TURNS = 3
/** Calls that other programs or the disk of the machine disturbed are measured again, at most so often in all. */
const MEASUREMENTS = 3

/** Attacks that have to be as harmless behind a proxy: on connections, answers, large work, and what is kept. */
export const BEHIND_PROXY = [
  ...['pipelined requests', 'pipelines that nobody reads', 'sockets with one byte', 'downloads that nobody reads'],
  ...['lists that nobody reads', 'refusing receivers', 'arrays of contacts', 'kept bytes and clicks'],
]

export type RunOptions = {
  seed: number
  /** Requests of the fuzz. */
  requests: number
  /** Texts of which the name of an attack that runs has one. Absent: all run. */
  only?: readonly string[]
  /** Calls of a healthy company that are measured before each attack, and at least so many under it. Absent: delays are not measured. */
  calls?: { quiet: number; attacked: number }
  /** The service has faults: each attack does what meets them, and one operation is covered by none. */
  control?: { uncovered: Operation }
  world?: WorldOptions
  say?: (line: string) => void
}

/** Attacks a running service in every way of this folder and counts what went wrong. */
export async function attack(options: RunOptions): Promise<Tally> {
  const world = await createWorld(options.world)
  try {
    return await attackWorld(world, options)
  } finally {
    await world.stop()
  }
}

async function attackWorld(world: World, options: RunOptions): Promise<Tally> {
  const { say = () => {}, calls, only } = options
  const tally = createTally()
  const isBrief = calls === undefined
  const healthy = await createHealthyCompany(world, tally, { isPatient: isBrief })
  const { client, ...some } = createAttacks(world, tally, options)
  const kind = { isControl: options.control !== undefined, isBrief }
  const cost = await createCostAttacks(world, tally, kind)
  const strangers = await createStrangers(world, tally, kind)
  const bulk = await createBulkWork(world, tally, isBrief)
  const large: Attack[] = [
    { name: 'arrays of contacts', run: bulk.sendArrays, isRepeatable: true },
    { name: 'eight imports', run: bulk.importLists, isRepeatable: true },
    { name: 'kept bytes and clicks', run: (round) => fillStorage(world, tally, round), isRepeatable: true },
    { name: 'sessions of one key', run: (round) => signInOften(world, tally, round), isRepeatable: true },
  ]
  const measureQuiet = async (count: number): Promise<Measured> => {
    const quiet = await measure(() => healthy.measureQuiet(count))
    tally.addLatency(quiet)
    return quiet
  }
  const under = async ({ name, run, cleanUp = async () => {}, isRepeatable = false }: Attack): Promise<void> => {
    say(name)
    if (calls === undefined || !isRepeatable) {
      const quiet = calls && (await measureQuiet(calls.quiet))
      tally.addLatency(await healthy.underAttack(name, 0, () => run(0)), quiet)
      return void (await cleanUp())
    }
    // The first round is not measured, like the first calls without an attack. Work of a company alone would not be paced.
    let round = 0
    await healthy.underAttack(name, 0, () => run(round++))
    await cleanUp()
    for (let turn = 0; turn < TURNS; turn += 1) {
      const quiet = await measureQuiet(calls.quiet)
      const attacked = await measure(() => healthy.underAttack(name, calls.attacked, () => run(round++)))
      tally.addLatency(attacked, quiet)
      await cleanUp()
    }
  }
  const isChosen = ({ name }: Attack) => only === undefined || only.some((text) => name.includes(text))
  const before = residentMegabytes(world.stage.service.pid).highest
  try {
    if (calls !== undefined) {
      say('first calls of each operation')
      await callAll(world, some.operations)
      say('no attack')
      await measureQuiet(calls.quiet)
      tally.addLatency(await measureBusyMachine(healthy, calls.attacked))
      // Attackers, mail servers and the provider have machines of their own: what they compute is not the service's delay.
      setIdle(process.pid, true)
      setIdle(world.stage.sandboxPid, true)
    }
    for (const one of [...some.attacks, ...cost.attacks, ...strangers, ...large].filter(isChosen)) {
      await under(one)
      await one.end?.()
      const measured = latenciesOf(tally).find(({ name }) => name === one.name)
      if (calls !== undefined && measured)
        say(`  p99 ${measured.p99Ms.toFixed(1)} ms, ${measured.ofQuiet.toFixed(1)} times the quiet one`)
    }
    if (only === undefined) await cost.measureForged()
    if (isChosen(some.fuzz)) {
      await under(some.fuzz)
      // A client that gets no processor misses the answer to a body that is refused before it has come.
      if (calls !== undefined) setIdle(process.pid, false)
      await some.fuzzOn()
    }
    countMemory(world, tally, before)
    return tally
  } finally {
    await Promise.all([healthy.stop(), cost.close(), bulk.close(), client.close()])
  }
}

/** Returns calls that nothing but the service delayed, or else those of the last measurement. */
async function measure(run: () => Promise<Measured>): Promise<Measured> {
  let measured = await run()
  for (let n = 1; n < MEASUREMENTS && !isUndisturbed(measured); n += 1) measured = await run()
  return measured
}

/**
 * What processors that others use cost by themselves: two programs that do nothing but compute, and no attack. On two
 * processors it shows which part of a delay is not the service's.
 */
async function measureBusyMachine(healthy: HealthyCompany, calls: number): Promise<Measured> {
  const programs = [1, 2].map(() => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }))
  try {
    return await healthy.underAttack(BUSY_MACHINE, calls, () => sleep(calls * INTERVAL_MS))
  } finally {
    for (const program of programs) program.kill('SIGKILL')
  }
}

/** All attacks but those of cost.ts, and the fuzz, which comes last. */
function createAttacks(world: World, tally: Tally, { seed, requests, calls, control }: RunOptions) {
  const contract = readContract()
  if (control) contract.operations.push(control.uncovered)
  const client = createClient(world.stage.url)
  const secrets: Secrets = { everywhere: [world.adminToken], foreign: FOREIGN_MARK }
  const fuzzOptions = { requests, random: createRandom(seed), secrets, concurrency: 8 }
  const limited = calls ? paced(client, LIMITED_PER_SECOND) : patient(client)
  // An operator imports one file at a time, as long as delays are judged.
  const concurrent = calls ? 1 : 4
  const attacks: Attack[] = [
    { name: 'foreign ids', run: () => askForForeign(world, limited, contract, tally) },
    { name: 'roles of sessions', run: () => attackRoles(world, limited, contract, tally) },
    {
      name: 'keys of browsers',
      run: () => attackBrowserKeys(world, client, contract, tally),
      isRepeatable: true,
    },
    {
      name: 'archives of companies',
      run: (round) => attackArchives(world, tally, { round, isBrief: control !== undefined, concurrent }),
      isRepeatable: true,
    },
    {
      name: 'refusing receivers',
      run: () => attackReceivers(world, client, tally, { isBrief: calls === undefined }),
      cleanUp: () => removeReceivers(world),
      isRepeatable: true,
    },
    {
      name: 'repeated redeliveries',
      run: () => attackRedeliveries(world, client, tally),
      cleanUp: () => removeReceivers(world),
      isRepeatable: true,
    },
    { name: 'malformed HTTP', run: () => sendMalformed(world.stage.url, tally), isRepeatable: true },
    { name: 'hostile provider bodies', run: createInboundAttack(world, tally), isRepeatable: true },
  ]
  // The others follow as fast as they are answered.
  const measuredMs = calls ? TURNS * calls.attacked * INTERVAL_MS : Number.POSITIVE_INFINITY
  const limitedRequests = Math.min(requests, (measuredMs / 1_000) * LIMITED_PER_SECOND)
  const fuzzing: Attack = {
    name: `a fuzz of ${requests} requests`,
    run: () => fuzz(world, limited, contract, tally, { ...fuzzOptions, requests: limitedRequests }),
  }
  const fuzzOn = () => fuzz(world, client, contract, tally, { ...fuzzOptions, requests: requests - limitedRequests })
  return { client, attacks, fuzz: fuzzing, fuzzOn, operations: contract.operations }
}

/**
 * Calls each operation once, for ids that nothing has: a process compiles the shapes of an operation and loads its libraries at
 * the first call, for up to 0.1 s.
 */
async function callAll({ stage, own, adminToken }: World, operations: readonly Operation[]): Promise<void> {
  const client = createClient(stage.url, FIRST_CALLER)
  for (const { method, path, credential } of operations) {
    const token = credential === 'adminToken' ? adminToken : own.keys.all
    const headers = { authorization: `Bearer ${token}` }
    // The stream of no topic is refused; an open one would not end.
    const request = { method, path: `${path.replaceAll(/\{\w+\}/g, MISSING)}?topics=none`, headers }
    const hasBody = method !== 'get' && method !== 'delete'
    await client.send(
      hasBody ? { ...request, headers: { ...headers, 'content-type': 'application/json' }, body: '{}' } : request,
    )
  }
  await client.close()
}

function countMemory({ stage }: World, tally: Tally, before: number): void {
  const { highest } = residentMegabytes(stage.service.pid)
  const figure = `resident memory: ${Math.round(before)} MB before, ${Math.round(highest)} MB at its highest`
  tally.figures.push(figure)
  if ((highest - before) * 1024 * 1024 > MOST_GROWTH_BYTES) tally.add('memory beyond the bound', figure)
}
