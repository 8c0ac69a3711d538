import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { lockDataFolder, openDataFolder } from '../../src/db/embedded/folder.ts'
import { dataFolder, processesOn, readyFolder, startParley, until } from '../parley-process.ts'
import { roomyFolder } from '../temporary-folder.ts'
import { isPostmaster, RUN_VARIABLE } from './clean-run.ts'
import { cleanDeadRuns } from './run-folder.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** In the inner run: the file that gets the folder of the run once a service runs. */
const NOTE = process.env.INTERRUPTED_RUN

test.runIf(NOTE)('the test that is interrupted', async () => {
  await startParley({ DATA_DIR: await readyFolder() })
  writeFileSync(NOTE!, process.env[RUN_VARIABLE]!)
  await new Promise(() => {})
})

/** Runs the test above in a vitest of its own; resolves with that process and the folder of its run. */
async function startRun(): Promise<{ pid: number; exited: Promise<unknown>; folder: string }> {
  const note = join(dataFolder(), 'note')
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
  const child = spawn(process.execPath, [vitest, 'run', '--project', 'slow', 'test/run/interrupted-run.test.ts'], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, INTERRUPTED_RUN: note },
    stdio: 'ignore',
    detached: true,
  })
  const exited = once(child, 'exit')
  onTestFinished(() => void child.kill('SIGKILL'))
  await until('its test runs', () => existsSync(note) && readFileSync(note, 'utf8') !== '', 120_000)
  return { pid: child.pid!, exited, folder: readFileSync(note, 'utf8') }
}

test.skipIf(NOTE).each([
  ['Ctrl-C', 'SIGINT'],
  ['kill -9', 'SIGKILL'],
] as const)('a test run that ends by %s leaves no process and no cluster', { timeout: 180_000 }, async (_, signal) => {
  const { pid, exited, folder } = await startRun()
  // A process that a postmaster has just forked has the command of the postmaster still.
  const postmasters = () => processesOn(folder).filter(({ command }) => isPostmaster(command))
  await until('the servers of the run and of the service run', () => postmasters().length === 2)
  // Ctrl-C reaches the whole process group.
  process.kill(signal === 'SIGINT' ? -pid : pid, signal)
  await exited
  await until('nothing is left', () => processesOn(folder).length === 0 && !existsSync(folder), 60_000)
})

test.skipIf(NOTE)('the next run cleans up after one whose watcher was killed too, and after no other', async () => {
  const make = () => mkdtempSync(join(roomyFolder(), 'parley-run-'))
  const [dead, living] = [make(), make()]
  const unlock = lockDataFolder(await openDataFolder(living))
  onTestFinished(() => unlock())
  const left = [{ [RUN_VARIABLE]: dead }, { DATA_DIR: join(dead, 'data') }].map((env) =>
    spawn('sleep', ['600'], { env: { PATH: process.env.PATH, ...env } }),
  )
  const exited = left.map((child) => once(child, 'exit'))
  await cleanDeadRuns()
  await Promise.all(exited)
  expect([existsSync(dead), existsSync(living)]).toEqual([false, true])
  unlock()
  await cleanDeadRuns()
  expect(existsSync(living)).toBe(false)
})
