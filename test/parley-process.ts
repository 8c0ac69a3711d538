import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { inject, onTestFinished } from 'vitest'
import { connect } from '../src/db/connect.ts'
import { joinEmbedded } from '../src/db/embedded/start.ts'
import { isDatabaseDown } from '../src/db/pool/failure.ts'
import { freePort } from './free-port.ts'
import { ELSEWHERE, endProcess, isPostmaster, RUN_VARIABLE } from './run/clean-run.ts'
import { temporaryFolder } from './temporary-folder.ts'

/** The program that `npm start` runs: a bundle of this commit's sources (run/bundled-programs.ts). */
export const MAIN = inject('mainProgram')

/** The version of that bundle. */
export function bundledVersion(): string {
  const text = readFileSync(join(dirname(MAIN), '..', 'package.json'), 'utf8')
  const { version, build }: { version: string; build: string } = JSON.parse(text)
  return `${version}+${build}`
}

export type ParleyProcess = {
  child: ChildProcess
  pid: number
  address: string
  output(): string
  /** Resolves with the exit code, null after SIGKILL. */
  exited: Promise<number | null>
  /** Resolves when the output holds the text, or rejects with the output when the process ends before. */
  says(text: string): Promise<void>
  signal(name: NodeJS.Signals): Promise<number | null>
}

/** A folder for one test. When the test ends, processes on it are ended and the folder is removed. */
export function dataFolder(
  parent: string = temporaryFolder(),
  whenDone: (clean: () => void) => void = onTestFinished,
): string {
  const path = mkdtempSync(join(parent, 'parley-process-'))
  const run = process.env[RUN_VARIABLE]
  if (run && parent !== run) appendFileSync(join(run, ELSEWHERE), `${path}\n`)
  whenDone(() => {
    for (const { pid, command } of processesOn(path)) endProcess(pid, isPostmaster(command))
    rmSync(path, { recursive: true, force: true, maxRetries: 5 })
  })
  return path
}

/** The same with a migrated database in it: a copy is there sooner than a first start. */
export async function readyFolder(whenDone?: (clean: () => void) => void): Promise<string> {
  const path = dataFolder(undefined, whenDone)
  cpSync(join(inject('clusterFolder'), 'postgres'), join(path, 'postgres'), { recursive: true })
  return path
}

const OWN_ENVIRONMENT = Object.fromEntries(
  ['PATH', 'NODE_COMPILE_CACHE', RUN_VARIABLE].map((name) => [name, process.env[name] ?? '']),
)

/**
 * `parley start` as a process of its own, with nothing of the environment but the path, the cache of compiled code and the test
 * run. It stops at once: a test of the delay sets it.
 */
export async function runParley(
  env: Record<string, string>,
  {
    script = MAIN,
    args = ['start'],
    terminal = false,
    whenDone = onTestFinished,
  }: { script?: string; args?: string[]; terminal?: boolean; whenDone?: (clean: () => void) => void } = {},
): Promise<ParleyProcess> {
  const port = env.PORT ?? String(await freePort())
  const options = {
    env: { ...OWN_ENVIRONMENT, PORT: port, SANDBOX: 'off', PROCESSES: '1', STOP_DELAY_MS: '0', ...env },
    detached: true,
  }
  const [file, ...rest] = terminal ? atTerminal([script, ...args]) : [process.execPath, script, ...args]
  const child = spawn(file, rest, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  // A test that fails leaves it running: the server goes with it.
  whenDone(() => void child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  const exited = once(child, 'close').then(([code]) => code as number | null)
  const says = async (text: string) => {
    while (!output.includes(text)) {
      const ended = await Promise.race([exited.then(() => true), sleep(20, false)])
      if (ended && !output.includes(text)) throw new Error(`ended without saying "${text}":\n${output}`)
    }
  }
  const signal = (name: NodeJS.Signals) => {
    child.kill(name)
    return exited
  }
  const address = `http://127.0.0.1:${port}`
  return { child, pid: child.pid ?? 0, address, output: () => output, exited, says, signal }
}

/** `script` of util-linux gives the process a terminal; when it ends, SIGHUP stops the process in order. */
const atTerminal = (args: string[]): [string, ...string[]] => [
  'script',
  '--quiet',
  '--return',
  '--command',
  ['exec', process.execPath, ...args].join(' '),
  '/dev/null',
]

/** As above, once it answers. */
export async function startParley(env: Record<string, string>, options = {}): Promise<ParleyProcess> {
  const parley = await runParley(env, options)
  await parley.says('Parley listens on')
  return parley
}

/** The living processes whose command names the folder: PostgreSQL, its keeper and initdb. */
export function processesOn(folder: string): { pid: number; command: string }[] {
  const pids = readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name))
  return pids
    .map((pid) => ({ pid: Number(pid), command: commandOf(pid) }))
    .filter(({ command }) => command.includes(folder))
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return ''
  }
}

/**
 * Waits for a thing that other processes bring about; generous, since the machine may be busy: a database that did not answer
 * in time is asked again.
 */
export async function until(what: string, isSo: () => boolean | Promise<boolean>, maxMs = 90_000): Promise<void> {
  let failure: unknown
  for (let waitedMs = 0; waitedMs < maxMs; waitedMs += 20) {
    try {
      if (await isSo()) return
    } catch (error) {
      if (!isDatabaseDown(error)) throw error
      failure = error
    }
    await sleep(20)
  }
  throw new Error(`did not come about: ${what}`, { cause: failure })
}

/** Waits until the process is ready: its database answers within a second, which it need not on a busy machine. */
export const untilReady = (address: string): Promise<void> =>
  until('the process is ready', async () => (await fetch(`${address}/readyz`)).status === 200)

/** Waits until no process is left on the folder. */
export const untilGone = (folder: string): Promise<void> =>
  until(`no process on ${folder}`, () => processesOn(folder).length === 0)

/** Runs a statement on the data of a running Parley with an embedded database. */
export async function queryEmbedded(folder: string, statement: string) {
  const { url } = await joinEmbedded(folder)
  const db = connect(url, { max: 1 })
  const rows = await db.unsafe(statement)
  await db.end()
  return rows
}
