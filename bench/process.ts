import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { RUN_VARIABLE } from '../test/run/clean-run.ts'

/** A program of this repository, running as a process of its own. */
export type Program = { pid: number; address: string; stop(): Promise<void> }

type Start = {
  /** Path from the root of the repository: a module for Node, or a command. */
  script: string
  args?: string[]
  env?: Record<string, string>
  /** Its output goes there: reading a pipe would take part in the measurement. */
  outputFile: string
  /** The line that it prints when it is ready; the first group becomes `address`. */
  ready: RegExp
  /** Another checkout to run it from; absent: this one. */
  root?: string | undefined
  /** How many files it may have open; absent: as many as this process. */
  openFiles?: number | undefined
}

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const TICKS_PER_SECOND = 100
/** Nothing of our environment but the path, and the folder of the test run, with which the program ends. */
const ENV = {
  ...{ PATH: process.env.PATH ?? '', NODE_OPTIONS: process.env.BENCH_NODE_OPTIONS ?? '' },
  ...(process.env[RUN_VARIABLE] && { [RUN_VARIABLE]: process.env[RUN_VARIABLE] }),
}

/** Starts a program; resolves when it says that it is ready. */
export async function startProgram(start: Start): Promise<Program> {
  const { script, args = [], env = {}, outputFile, ready, root = ROOT, openFiles } = start
  const output = openSync(outputFile, 'w')
  const command = script.endsWith('.ts') ? [process.execPath, join(root, script)] : [join(root, script)]
  const limit = openFiles === undefined ? [] : ['sh', '-c', `ulimit -n ${openFiles}; exec "$@"`, 'sh']
  const [program = '', ...before] = [...limit, ...command]
  const child = spawn(program, [...before, ...args], { stdio: ['ignore', output, output], env: { ...ENV, ...env } })
  closeSync(output)
  const exited = once(child, 'exit')
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const stop = async () => {
    child.kill('SIGTERM')
    await exited
    process.off('exit', kill)
  }
  for (;;) {
    const hasEnded = child.exitCode !== null
    const text = readFileSync(outputFile, 'utf8')
    const address = ready.exec(text)?.[1]
    if (address !== undefined) return { pid: child.pid ?? 0, address, stop }
    if (hasEnded) throw new Error(`A program ended before it was ready:\n${text}`)
    await sleep(25)
  }
}

/** Processor seconds that processes have used, those of their ended children included. */
export function cpuSeconds(...pids: number[]): number {
  const ticks = pids.flatMap((pid) => statOf(pid).slice(11, 15).map(Number))
  return ticks.reduce((sum, tick) => sum + tick, 0) / TICKS_PER_SECOND
}

/** Seconds for which the processors of the machine have computed, for whatever program; 0 where the system does not count them. */
export function busySeconds(): number {
  if (!existsSync('/proc/stat')) return 0
  const [, user = 0, nice = 0, system = 0, , , interrupts = 0, soft = 0] = (
    readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? ''
  )
    .split(/ +/)
    .map(Number)
  return (user + nice + system + interrupts + soft) / TICKS_PER_SECOND
}

/**
 * Gives a process the idle scheduling policy of Linux, or the ordinary one again; threads that it starts later inherit it. At the lowest
 * ordinary priority a process still keeps a processor for some milliseconds. Elsewhere nothing changes.
 */
export function setIdle(pid: number, isIdle: boolean): void {
  if (process.platform !== 'linux') return
  execFileSync('chrt', ['--all-tasks', isIdle ? '--idle' : '--other', '--pid', '0', String(pid)])
}

/** The fields of /proc/PID/stat after the name, which may hold anything; none of a process that has ended. */
function statOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
  } catch {
    return []
  }
}

/** The ids of the direct children of a process (Linux). */
export function childrenOf(parent: number): number[] {
  const pids = readdirSync('/proc').filter((entry) => /^[0-9]+$/.test(entry))
  return pids.map(Number).filter((pid) => Number(statOf(pid)[1]) === parent)
}

/** Resident memory of a process now and at its highest, in megabytes. */
export function residentMegabytes(pid: number): { now: number; highest: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const megabytes = (name: string) => Number(new RegExp(`^${name}:\\s+([0-9]+) kB`, 'm').exec(status)?.[1]) / 1024
  return { now: megabytes('VmRSS'), highest: megabytes('VmHWM') }
}
