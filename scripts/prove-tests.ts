// Proves that no test depends on the speed of the machine: in a clone of the last commit `npm run test:all` runs alone, then under
// nice -n 19 beside a program for each core that keeps it busy, then with one worker. Arguments are passed to vitest, such as
// files. Prints times and failures; ends with code 1 when a run failed.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Runs until its parent has ended. */
const BUSY = `while (process.ppid === ${process.pid});`
const FAILURE = /^ *(FAIL|×|Error:|AssertionError:|Test Files|Tests) /

const runs = [
  { title: 'alone', isNice: false, env: {} },
  { title: 'under nice -n 19, with all cores busy', isNice: true, env: {} },
  { title: 'with one worker', isNice: false, env: { VITEST_MAX_WORKERS: '1' } },
]

const folder = mkdtempSync(join(tmpdir(), 'parley-tests-'))
// Some tests start the service as another user.
chmodSync(folder, 0o755)
const clone = join(folder, 'clone')
execFileSync('git', ['clone', '--quiet', fileURLToPath(new URL('..', import.meta.url)), clone])
let hasFailed = false
let endRun = () => {}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
process.on('exit', () => {
  endRun()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})
for (const { title, isNice, env } of runs) {
  // The packages stay: the first run installs them.
  execFileSync('git', ['clean', '-fdxq', '--exclude=node_modules'], { cwd: clone })
  const busy = isNice ? Array.from({ length: availableParallelism() }, startBusy) : []
  const startedAtMs = performance.now()
  const { code, lines } = await runTests(isNice, env)
  for (const program of busy) program.kill('SIGKILL')
  const minutes = ((performance.now() - startedAtMs) / 60_000).toFixed(1)
  console.log(`npm run test:all ${title}: ${code === 0 ? 'passes' : 'FAILS'} in ${minutes} min`)
  for (const line of lines) console.log(line)
  hasFailed ||= code !== 0
}
process.exit(hasFailed ? 1 : 0)

/** In a session of its own: Linux may share the processors among sessions before it looks at niceness. */
function startBusy(): ChildProcess {
  return spawn(process.execPath, ['-e', BUSY], { detached: true, stdio: 'ignore' })
}

/** Resolves with the exit code and the lines that name failures and numbers. */
async function runTests(isNice: boolean, env: Record<string, string>): Promise<{ code: number; lines: string[] }> {
  const command = [...(isNice ? ['nice', '-n', '19'] : []), 'npm', 'run', 'test:all', '--', ...process.argv.slice(2)]
  const [program = 'npm', ...args] = command
  const child = spawn(program, args, {
    cwd: clone,
    env: { ...process.env, NO_COLOR: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  endRun = () => process.kill(-(child.pid ?? 0), 'SIGKILL')
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  const [code] = await once(child, 'close')
  endRun = () => {}
  return { code: code ?? 1, lines: output.split('\n').filter((line) => FAILURE.test(line)) }
}
