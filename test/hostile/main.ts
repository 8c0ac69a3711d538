/** `npm run hostile -- [--quick] [--only NAME...] [--requests N] [--seed N]`: attacks a running service and prints what went wrong. */
import { execFileSync } from 'node:child_process'
import { loadavg } from 'node:os'
import { Command } from 'commander'
import { copyWith, FAULTS, UNCOVERED, UNPACED } from './control.ts'
import { attack } from './run.ts'
import { BUSY_MACHINE, COUNTERS, latenciesOf, latencyTableOf, type Tally, tableOf, total } from './tally.ts'

/** The time that calls of a healthy company may take under an attack, as a multiple of the 99th percentile without one. */
const MOST_OF_QUIET = 2
/** The load of a machine that counts as idle: on another one, times are printed and not judged. */
const IDLE_LOAD = 0.5

const program = new Command('hostile')
  .option('--quick', 'each attack once, 2,000 requests of the fuzz, no service with faults')
  .option('--only <names...>', 'attacks whose name has one of these texts, no service with faults')
  .option('--requests <n>', 'requests of the fuzz', Number)
  .option('--seed <n>', 'repeats a run', Number)
  .parse()
type Options = { quick?: boolean; only?: string[]; requests?: number; seed?: number }
const { quick = false, only, requests, seed } = program.opts<Options>()
const options = {
  seed: seed ?? Date.now() % 2 ** 31,
  requests: requests ?? (quick ? 2_000 : 50_000),
  ...(only !== undefined && { only }),
  calls: quick ? { quiet: 200, attacked: 0 } : { quiet: 200, attacked: 300 },
}
/** The fuzz of the control arm: some requests for each operation, the same ones each time, among them those that meet a fault. */
const CONTROL = { seed: 20_261_122, requests: 600 }
const say = (line: string) => console.log(`  ${new Date().toISOString().slice(11, 19)} ${line}`)

const load = loadavg()[0] ?? 0
console.log(`seed ${options.seed}, commit ${commitOfCheckout()}, load of the machine ${load.toFixed(1)}`)
const startedAt = performance.now()
const tally = await attack({ ...options, say })
console.log(`\n${tableOf(tally)}\n\n${latencyTableOf(tally)}\n`)
for (const line of [...tally.figures, ...tally.findings]) console.log(`  ${line}`)
/** On another machine times are printed; a quick run has too few calls. */
const isJudged = !quick && load < IDLE_LOAD
const isDelayed = hasDelays(tally)
const hasControl = !quick && only === undefined
const isBlind = hasControl && ((await hasBlindCounters()) || (await isBlindToDelays()))
console.log(`${Math.round((performance.now() - startedAt) / 1_000)} s`)
process.exitCode = total(tally) > 0 || isDelayed || isBlind ? 1 : 0

/** Whether an attack delays healthy calls too much. */
function hasDelays(tally: Tally): boolean {
  const names = delayedIn(tally).join(', ') || 'none'
  console.log(`attacks beyond ${MOST_OF_QUIET} times the quiet p99${isJudged ? '' : ' (not judged)'}: ${names}`)
  return isJudged && delayedIn(tally).length > 0
}

function delayedIn(tally: Tally): string[] {
  const delayed = latenciesOf(tally).filter(({ name, ofQuiet }) => name !== BUSY_MACHINE && ofQuiet > MOST_OF_QUIET)
  return delayed.map(({ name }) => name)
}

/** Attacks a second service with a fault for each counter, and prints the counters that none raises. */
async function hasBlindCounters(): Promise<boolean> {
  const { root, remove } = copyWith(FAULTS)
  const control = await attack({ ...CONTROL, control: { uncovered: UNCOVERED }, stage: { root } }).finally(remove)
  const blind = COUNTERS.filter((counter) => control.counts[counter] === 0)
  console.log(`control arm with a fault for each counter: ${total(control)} counted`)
  for (const counter of blind) console.log(`not raised by its fault: ${counter}`)
  return blind.length > 0
}

/** Whether a service that reads forged bodies as fast as they come passes for one that delays no calls. */
async function isBlindToDelays(): Promise<boolean> {
  const { root, remove } = copyWith([UNPACED])
  const control = await attack({ ...options, only: ['forged'], stage: { root } }).finally(remove)
  const [forged] = latenciesOf(control).filter(({ name }) => name === 'forged bodies')
  console.log(`without the rate of bodies, forged ones: ${forged?.ofQuiet.toFixed(1)} times the quiet p99`)
  return isJudged && delayedIn(control).length === 0
}

function commitOfCheckout(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' }).trim()
  } catch {
    return 'unknown'
  }
}
