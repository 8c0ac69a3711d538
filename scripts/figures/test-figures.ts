// Prints the processor time that one test file takes before its first test: without a database, and with a service on a database
// of its own. Programs that these start are included. Imported by figures.ts.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Starts its service when it is loaded. */
const ON_DATABASE = 'test/conversations/usage.test.ts'
const UNIT = 'src/text/phone.test.ts'
const RUNS = 3

const root = fileURLToPath(new URL('../..', import.meta.url))
for (const file of [UNIT, ON_DATABASE]) {
  // The first run fills the caches.
  const seconds = Array.from({ length: RUNS + 1 }, () => secondsBeforeFirstTest(file)).slice(1)
  console.log(`processor time of ${file} before its first test: ${seconds.join(', ')} s`)
}

/** Runs the file with a pattern that no test has; `times` of the shell then has the time of all processes that ended. */
function secondsBeforeFirstTest(file: string): string {
  const vitest = `${process.execPath} node_modules/vitest/vitest.mjs run ${file} --testNamePattern 'no test'`
  const output = execFileSync('sh', ['-c', `${vitest} >&2 && times`], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [, user = '', system = ''] = /\n(\S+) (\S+)/.exec(String(output)) ?? []
  return (inSeconds(user) + inSeconds(system)).toFixed(1)
}

/** `1m2.345s` in seconds. */
function inSeconds(time: string): number {
  const [minutes = '', seconds = ''] = time.split('m')
  return Number(minutes) * 60 + Number.parseFloat(seconds)
}
