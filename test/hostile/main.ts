/** `npm run hostile -- [--quick] [--requests N] [--seed N]`: attacks a running service and prints what went wrong. */
import { execFileSync } from 'node:child_process'
import { Command } from 'commander'
import { COMPANY_OF_REGISTRATIONS, copyWithout } from './control.ts'
import { attack } from './run.ts'
import { tableOf, total } from './tally.ts'

const program = new Command('hostile')
  .option('--quick', '2,000 requests of the fuzz')
  .option('--requests <n>', 'requests of the fuzz', Number)
  .option('--seed <n>', 'repeats a run', Number)
  .parse()
const { quick = false, requests, seed } = program.opts<{ quick?: boolean; requests?: number; seed?: number }>()
const options = {
  seed: seed ?? Date.now() % 2 ** 31,
  requests: requests ?? (quick ? 2_000 : 50_000),
  slowMs: 2_000,
  memoryMegabytes: 300,
}
const say = (line: string) => console.log(`  ${new Date().toISOString().slice(11, 19)} ${line}`)

console.log(`seed ${options.seed}, commit ${commitOfCheckout()}`)
const tally = await attack({ ...options, say })
console.log(`\n${tableOf(tally)}\n`)
for (const line of tally.findings) console.log(line)

const { root, remove } = copyWithout(COMPANY_OF_REGISTRATIONS)
const control = await attack({ ...options, onlyForeignIds: true, stage: { root } }).finally(remove)
console.log(`control arm without ${COMPANY_OF_REGISTRATIONS.name}: ${total(control)} counted`)
process.exitCode = total(tally) > 0 || total(control) === 0 ? 1 : 0

function commitOfCheckout(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' }).trim()
  } catch {
    return 'unknown'
  }
}
