/**
 * `npm run faults -- [--quick | --control | --rolling | --upgrade | --patroni] [--seed N]`: kills, restarts and promotes under load, and
 * counts what that cost.
 */
import { execFileSync } from 'node:child_process'
import { Command } from 'commander'
import { has } from '../deploy/deploy-files.ts'
import { COUNTERS, type Counts, total } from './counters.ts'
import type { Database } from './database/database.ts'
import { startPostgres } from './database/postgres.ts'
import { postgresFaults } from './database/postgres-faults.ts'
import type { Fault } from './fault.ts'
import { missingForCluster } from './patroni/cluster.ts'
import { startPatroniDatabase } from './patroni/patroni-database.ts'
import { PATRONI, PATRONI_QUICK, patroniFaults } from './patroni/patroni-faults.ts'
import { CONTROL, FULL, type LoadPlan, QUICK } from './plan.ts'
import { ROLLING, rollUnderCalls } from './rolling.ts'
import { run } from './run.ts'
import { buildPreviousRelease, type PreviousRelease } from './upgrade/previous-release.ts'
import { UPGRADE, UPGRADE_QUICK, type UpgradePlan, upgradeUnderLoad } from './upgrade/upgrade.ts'

const program = new Command('faults')
  .option('--quick', 'a run of a few minutes')
  .option('--control', 'the control arm alone, which has to fail')
  .option('--rolling', 'rolling restarts alone, under calls on kept-alive connections')
  .option('--upgrade', 'the processes of the previous release are upgraded in turn; with --quick under less load')
  .option('--patroni', 'leaders of a Patroni cluster are lost; with --quick in each way once')
  .option('--seed <n>', 'repeats the order of faults', Number)
  .parse()
const {
  quick = false,
  control = false,
  rolling = false,
  upgrade = false,
  patroni = false,
  seed = Date.now() % 2 ** 31,
} = program.opts<{
  quick?: boolean
  control?: boolean
  rolling?: boolean
  upgrade?: boolean
  patroni?: boolean
  seed?: number
}>()
const say = (line: string) => console.log(`  ${new Date().toISOString().slice(11, 19)} ${line}`)

console.log(`seed ${seed}, commit ${commitOfCheckout()}`)
if (rolling) process.exit((await rollUnderCalls({ ...ROLLING, seed }, say)) > 0 ? 1 : 0)
if (upgrade) {
  const previous = await buildPreviousRelease()
  if (typeof previous === 'string') program.error(previous)
  else process.exit(await reportUpgrade({ ...(quick ? UPGRADE_QUICK : UPGRADE), seed }, previous))
}
if (patroni) {
  const missing = missingForCluster()
  if (missing !== undefined) program.error(missing)
  const plan = quick ? PATRONI_QUICK : PATRONI
  await count({ ...plan, seed }, startPatroniDatabase, patroniFaults(plan))
}
const plan = control ? CONTROL : quick ? QUICK : FULL
await count({ ...plan, seed }, startPostgres, postgresFaults(plan))

async function reportUpgrade(plan: UpgradePlan, previous: PreviousRelease): Promise<number> {
  say(`from ${previous.name}, ${has('nginx') ? 'behind nginx' : 'without nginx, which is not installed'}`)
  const { counts, errors, reads, strange, migrations, failures } = await upgradeUnderLoad(plan, previous, say)
  for (const [answer, { length }] of Map.groupBy(strange, (text) => text)) say(`${length} times ${answer}`)
  console.log(`\n${tableOf(plan, [{ name: 'migration' }], counts)}`)
  console.log(
    `${migrations} migrations, ${reads.answered} reads answered, ${reads.unavailable} times 503 with Retry-After`,
  )
  console.log(`answers other than 2xx and 503 with Retry-After  ${strange.length}`)
  if (failures > 0) console.log(errors.join('\n'))
  return failures > 0 ? 1 : 0
}

async function count<Used extends Database>(
  plan: LoadPlan,
  startDatabase: () => Promise<Used>,
  faults: Fault<Used>[],
): Promise<never> {
  const { counts, errors } = await run(plan, startDatabase, faults, say)
  console.log(`\n${tableOf(plan, faults, counts)}`)
  if (total(counts) > 0) console.log(errors.join('\n'))
  process.exit(total(counts) > 0 ? 1 : 0)
}

function tableOf({ inbound, sends, scheduled, mails }: LoadPlan, faults: { name: string }[], counted: Counts): string {
  const names = Map.groupBy(faults, ({ name }) => name)
  const made = [...names].map(([name, { length }]) => `${name} ${length}`).join(', ')
  const load = `${inbound} messages, ${sends} keyed sends, ${scheduled} scheduled, ${mails} keyed mails`
  const width = Math.max(...COUNTERS.map((name) => name.length))
  return [made, load, ...COUNTERS.map((name) => `${name.padEnd(width)}  ${counted[name]}`)].join('\n')
}

function commitOfCheckout(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' }).trim()
  } catch {
    return 'unknown'
  }
}
