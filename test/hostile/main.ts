/**
 * `npm run hostile -- [--quick] [--proxy] [--only NAME...] [--requests N] [--seed N]`: attacks a running service, then one behind
 * nginx, and prints what went wrong.
 */
import { execFileSync } from 'node:child_process'
import { Command } from 'commander'
import { has } from '../deploy/deploy-files.ts'
import { copyWith, FAULTS, UNCOVERED, UNPACED } from './control.ts'
import { attack, BEHIND_PROXY } from './run.ts'
import { BUSY_MACHINE, COUNTERS, latenciesOf, latencyTableOf, type Tally, tableOf, total } from './tally.ts'

/** The time that calls of a healthy company may take under an attack, as a multiple of the 99th percentile without one. */
const MOST_OF_QUIET = 2

const program = new Command('hostile')
  .option('--quick', 'each attack once, 600 requests of the fuzz, no measure of delays, no service with faults')
  .option('--proxy', 'the attacks behind nginx alone')
  .option('--only <names...>', 'attacks whose name has one of these texts, no service with faults')
  .option('--requests <n>', 'requests of the fuzz', Number)
  .option('--seed <n>', 'repeats a run', Number)
  .parse()
type Options = { quick?: boolean; proxy?: boolean; only?: string[]; requests?: number; seed?: number }
const { quick = false, proxy = false, only, requests, seed } = program.opts<Options>()
const options = {
  seed: seed ?? Date.now() % 2 ** 31,
  requests: requests ?? (quick ? 600 : 50_000),
  ...(only !== undefined && { only }),
  ...(!quick && { calls: { quiet: 300, attacked: 400 } }),
}
/** The fuzz of the control arm: some requests for each operation, the same ones each time, among them those that meet a fault. */
const CONTROL = { seed: 20_261_122, requests: 600 }
const say = (line: string) => console.log(`  ${new Date().toISOString().slice(11, 19)} ${line}`)

console.log(`seed ${options.seed}, commit ${commitOfCheckout()}`)
const startedAt = performance.now()
const isHarmed = proxy ? false : report(await attack({ ...options, say }))
const isHarmedBehindProxy = proxy || (!quick && only === undefined) ? await attackBehindProxy() : false
const hasControl = !quick && !proxy && only === undefined
const isBlind = hasControl && [await hasBlindCounters(), await isBlindToDelays()].includes(true)
console.log(`${Math.round((performance.now() - startedAt) / 1_000)} s`)
process.exitCode = isHarmed || isHarmedBehindProxy || isBlind ? 1 : 0

/** Prints what went wrong, and returns whether anything did. */
function report(tally: Tally): boolean {
  console.log(`\n${tableOf(tally)}\n`)
  if (!quick) console.log(`${latencyTableOf(tally)}\n`)
  for (const line of [...tally.figures, ...tally.findings]) console.log(`  ${line}`)
  const isDelayed = !quick && hasDelays(tally)
  return total(tally) > 0 || isDelayed
}

/** The quiet calls that delays are measured against go through the proxy, too. */
async function attackBehindProxy(): Promise<boolean> {
  if (!has('nginx')) {
    console.log('nginx is not installed: nothing was attacked behind it')
    return false
  }
  console.log('behind nginx')
  const chosen = BEHIND_PROXY.filter((name) => only === undefined || only.some((text) => name.includes(text)))
  return report(await attack({ ...options, only: chosen, world: { isBehindNginx: true }, say }))
}

/** Whether an attack delays healthy calls too much. */
function hasDelays(tally: Tally): boolean {
  const { delayed, beside } = delaysIn(tally)
  console.log(`attacks beyond ${MOST_OF_QUIET} times the quiet p99: ${delayed.join(', ') || 'none'}`)
  if (beside.length > 0)
    console.log(`beyond it too, but not judged, since other programs ran or the disk stood still: ${beside.join(', ')}`)
  return delayed.length > 0
}

/** The attacks that delay healthy calls too much; those that the machine disturbed, too, are named by themselves. */
function delaysIn(tally: Tally): { delayed: string[]; beside: string[] } {
  const slow = latenciesOf(tally).filter(({ name, ofQuiet }) => name !== BUSY_MACHINE && ofQuiet > MOST_OF_QUIET)
  const namesOf = (rows: typeof slow) => rows.map(({ name }) => name)
  return {
    delayed: namesOf(slow.filter(({ isAlone }) => isAlone)),
    beside: namesOf(slow.filter(({ isAlone }) => !isAlone)),
  }
}

/** Attacks a second service with a fault for each counter, and prints the counters that none raises. */
async function hasBlindCounters(): Promise<boolean> {
  const { root, remove } = copyWith(FAULTS)
  const control = await attack({ ...CONTROL, control: { uncovered: UNCOVERED }, world: { root } }).finally(remove)
  const blind = COUNTERS.filter((counter) => control.counts[counter] === 0)
  console.log(`control arm with a fault for each counter: ${total(control)} counted`)
  for (const counter of blind) console.log(`not raised by its fault: ${counter}`)
  return blind.length > 0
}

/** Whether a service that reads forged bodies as fast as they come passes for one that delays no calls. */
async function isBlindToDelays(): Promise<boolean> {
  const { root, remove } = copyWith([UNPACED])
  const control = await attack({ ...options, only: ['forged'], world: { root } }).finally(remove)
  const [forged] = latenciesOf(control).filter(({ name }) => name === 'forged bodies')
  console.log(`without the rate of bodies, forged ones: ${forged?.ofQuiet.toFixed(1)} times the quiet p99`)
  return forged?.isAlone === true && delaysIn(control).delayed.length === 0
}

function commitOfCheckout(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' }).trim()
  } catch {
    return 'unknown'
  }
}
