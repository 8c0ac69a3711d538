/** `npm run hostile -- [--quick] [--requests N] [--seed N]`: attacks a running service and prints what went wrong. */
import { execFileSync } from 'node:child_process'
import { loadavg } from 'node:os'
import { Command } from 'commander'
import { copyWith, FAULTS, UNCOVERED } from './control.ts'
import { attack } from './run.ts'
import { COUNTERS, latencyTableOf, tableOf, total } from './tally.ts'

const program = new Command('hostile')
  .option('--quick', '2,000 requests of the fuzz')
  .option('--requests <n>', 'requests of the fuzz', Number)
  .option('--seed <n>', 'repeats a run', Number)
  .parse()
const { quick = false, requests, seed } = program.opts<{ quick?: boolean; requests?: number; seed?: number }>()
const options = {
  seed: seed ?? Date.now() % 2 ** 31,
  requests: requests ?? (quick ? 2_000 : 50_000),
}
/** The fuzz of the control arm: some requests for each operation, the same ones each time, among them those that meet a fault. */
const CONTROL = { seed: 20_261_122, requests: 600 }
const say = (line: string) => console.log(`  ${new Date().toISOString().slice(11, 19)} ${line}`)

console.log(`seed ${options.seed}, commit ${commitOfCheckout()}`)
const startedAt = performance.now()
const tally = await attack({ ...options, say })
console.log(`\n${tableOf(tally)}\n\n${latencyTableOf(tally)}\n`)
for (const figure of tally.figures) console.log(`  ${figure}`)
for (const line of tally.findings) console.log(line)

const { root, remove } = copyWith(FAULTS)
const control = await attack({ ...CONTROL, uncovered: UNCOVERED, stage: { root } }).finally(remove)
const blind = COUNTERS.filter((counter) => control.counts[counter] === 0)
console.log(`control arm with a fault for each counter: ${total(control)} counted`)
for (const counter of blind) console.log(`not raised by its fault: ${counter}`)
console.log(`${Math.round((performance.now() - startedAt) / 1_000)} s, load of the machine ${loadavg()[0]?.toFixed(1)}`)
process.exitCode = total(tally) > 0 || blind.length > 0 ? 1 : 0

function commitOfCheckout(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' }).trim()
  } catch {
    return 'unknown'
  }
}
