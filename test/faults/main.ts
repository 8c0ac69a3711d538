/** `npm run faults -- [--quick | --control | --rolling] [--seed N]`: kills, restarts and promotes under load, and counts what that cost. */
import { execFileSync } from 'node:child_process'
import { Command } from 'commander'
import { COUNTERS, type Counts, total } from './counters.ts'
import { CONTROL, FULL, type Plan, QUICK } from './plan.ts'
import { ROLLING, rollUnderCalls } from './rolling.ts'
import { run } from './run.ts'

const program = new Command('faults')
  .option('--quick', 'a run of a few minutes')
  .option('--control', 'the control arm alone, which has to fail')
  .option('--rolling', 'rolling restarts alone, under calls on kept-alive connections')
  .option('--seed <n>', 'repeats the order of faults', Number)
  .parse()
const {
  quick = false,
  control = false,
  rolling = false,
  seed = Date.now() % 2 ** 31,
} = program.opts<{
  quick?: boolean
  control?: boolean
  rolling?: boolean
  seed?: number
}>()
const say = (line: string) => console.log(`  ${new Date().toISOString().slice(11, 19)} ${line}`)

console.log(`seed ${seed}, commit ${commitOfCheckout()}`)
if (rolling) process.exit((await rollUnderCalls({ ...ROLLING, seed }, say)) > 0 ? 1 : 0)
const plan: Plan = { ...(control ? CONTROL : quick ? QUICK : FULL), seed }
const counts = await run(plan, say)
console.log(`\n${tableOf(plan, counts)}`)
process.exit(total(counts) > 0 ? 1 : 0)

function tableOf(done: Plan, counted: Counts): string {
  const faults = `${done.kills} kills, ${done.terminations} terminated sessions, ${done.databaseRestarts} database restarts, ${done.promotions} promotions, ${done.rollingRestarts} rolling restarts, ${done.fullDisks} full disks`
  const load = `${done.inbound} messages, ${done.sends} keyed sends, ${done.mails} keyed mails`
  const width = Math.max(...COUNTERS.map((name) => name.length))
  return [faults, load, ...COUNTERS.map((name) => `${name.padEnd(width)}  ${counted[name]}`)].join('\n')
}

function commitOfCheckout(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' }).trim()
  } catch {
    return 'unknown'
  }
}
