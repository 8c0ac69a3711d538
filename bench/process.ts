import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

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

/** Starts a program with nothing of our environment but the path and the test run; resolves when it says that it is ready. */
export async function startProgram({
  script,
  args = [],
  env = {},
  outputFile,
  ready,
  root = ROOT,
  openFiles,
}: Start): Promise<Program> {
  const output = openSync(outputFile, 'w')
  const command = script.endsWith('.ts') ? [process.execPath, join(root, script)] : [join(root, script)]
  const limit = openFiles === undefined ? [] : ['sh', '-c', `ulimit -n ${openFiles}; exec "$@"`, 'sh']
  const [program = '', ...before] = [...limit, ...command]
  const child = spawn(program, [...before, ...args], {
    stdio: ['ignore', output, output],
    env: { PATH: process.env.PATH ?? '', NODE_OPTIONS: process.env.BENCH_NODE_OPTIONS ?? '', ...TEST_RUN, ...env },
  })
  closeSync(output)
  const exited = once(child, 'exit')
  const forget = () => child.kill('SIGKILL')
  process.once('exit', forget)
  const address = await waitForLine(outputFile, ready, () => child.exitCode !== null)
  return {
    pid: child.pid ?? 0,
    address,
    stop: async () => {
      child.kill('SIGTERM')
      await exited
      process.off('exit', forget)
    },
  }
}

/** Where a test starts the program: names the folder of the run, with which it ends. */
const TEST_RUN = process.env.PARLEY_TEST_RUN ? { PARLEY_TEST_RUN: process.env.PARLEY_TEST_RUN } : {}

async function waitForLine(outputFile: string, ready: RegExp, hasEnded: () => boolean): Promise<string> {
  for (;;) {
    const ended = hasEnded()
    const output = readFileSync(outputFile, 'utf8')
    const address = ready.exec(output)?.[1]
    if (address !== undefined) return address
    if (ended) throw new Error(`A program ended before it was ready:\n${output}`)
    await sleep(25)
  }
}

/** Processor seconds that processes have used, those of their ended children included. */
export function cpuSeconds(...pids: number[]): number {
  const ticks = pids.flatMap((pid) => {
    const fields = statOf(pid)
    return fields.slice(11, 15).map(Number)
  })
  return ticks.reduce((sum, tick) => sum + tick, 0) / TICKS_PER_SECOND
}

/** Milliseconds that the first thread of a process has run, and has waited for a processor; 0 where the system does not count it. */
export function scheduledMs(pid: number): { ran: number; waited: number } {
  try {
    const [ran = 0, waited = 0] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ').map(Number)
    return { ran: ran / 1e6, waited: waited / 1e6 }
  } catch {
    return { ran: 0, waited: 0 }
  }
}

/** The fields of /proc/PID/stat after the name, which may hold anything. */
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
  const kilobytes = (name: string) => Number(new RegExp(`^${name}:\\s+([0-9]+) kB`, 'm').exec(status)?.[1])
  return { now: kilobytes('VmRSS') / 1024, highest: kilobytes('VmHWM') / 1024 }
}
