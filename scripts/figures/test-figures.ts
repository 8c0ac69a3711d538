// Prints the processor time of the tests, with that of all programs that they start: of one file before its first test, without a
// database and with a service on a database of its own; of `npm test`; and of `npm run test:all`, which adds the
// project `slow`. Imported by figures.ts.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Starts its service when it is loaded. */
const ON_DATABASE = 'test/conversations/usage.test.ts'
const UNIT = 'src/platform/text/phone.test.ts'
const RUNS = 3

const root = fileURLToPath(new URL('../..', import.meta.url))
for (const file of [UNIT, ON_DATABASE]) {
  // The first run fills the caches.
  const seconds = Array.from({ length: RUNS + 1 }, () => processorSeconds(`${file} --testNamePattern 'no test'`)).slice(
    1,
  )
  console.log(`processor time of ${file} before its first test: ${seconds.map((one) => one.toFixed(1)).join(', ')} s`)
}
const quick = processorSeconds('--project unit --project database --project process')
console.log(`processor time of npm test: ${quick.toFixed(0)} s`)
const slow = processorSeconds('--project slow')
console.log(`processor time of npm run test:all: ${(quick + slow).toFixed(0)} s`)

/** Runs vitest; `times` of the shell then has the time of all processes that ended. */
function processorSeconds(args: string): number {
  const vitest = `${process.execPath} node_modules/vitest/vitest.mjs run ${args}`
  const { stdout, status } = spawnSync('sh', ['-c', `${vitest} >&2; code=$?; times; exit $code`], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  if (status !== 0) console.log(`vitest run ${args} failed: its processor time may be another one`)
  const [, user = '', system = ''] = /\n(\S+) (\S+)/.exec(String(stdout)) ?? []
  return inSeconds(user) + inSeconds(system)
}

/** `1m2.345s` in seconds. */
function inSeconds(time: string): number {
  const [minutes = '', seconds = ''] = time.split('m')
  return Number(minutes) * 60 + Number.parseFloat(seconds)
}
