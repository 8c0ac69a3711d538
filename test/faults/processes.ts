import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../free-port.ts'
import { bundledMain } from '../run/bundled-programs.ts'
import { childrenOf, signal } from './process-tree.ts'
import type { Random } from './random.ts'

const SKEW = new URL('./skew.mjs', import.meta.url).href
/** Processes of the service have clocks that differ by up to twice this. */
const SKEW_MS = 120_000
const STOP_DEADLINE_MS = 30_000
const START_DEADLINE_MS = 120_000
/** Of each slot, the last ones. */
const KEPT_ERRORS = 20

export type Role = 'api' | 'worker' | 'all'

type Slot = {
  role: Role
  port: number
  /** 1, or a supervisor with so many workers. */
  processes: number
  skewMs: number
  child?: ChildProcess
  /** How processes ended that no fault has stopped: lines that say so, and ends without one. */
  ends: string[]
  /** Log lines of level error. */
  errors: string[]
  /** Whether a fault, or the end of the run, stops it. */
  isStopped: boolean
  /** While it is being started. */
  starting?: Promise<void> | undefined
}

/** Api and worker processes of the service on one database. */
export type Processes = {
  /** Where the api processes answer. */
  addresses: string[]
  /** Kills one of this role that runs, with SIGKILL; its start goes on while further faults are made. */
  kill(role: Role): Promise<void>
  /** Stops each in turn with SIGTERM and starts it again, with another program if one is given. */
  roll(program?: string): Promise<void>
  /** Freezes every process for some milliseconds. */
  pause(ms: number): Promise<void>
  /** Waits until all that were killed run again; throws when one does not start. */
  started(): Promise<void>
  /** Lines of processes that crashed by themselves, and ends without such a line. */
  crashes(): string[]
  /** The last error lines of each process, also of stopped ones. */
  errors(): string[]
  stop(): Promise<void>
}

export async function startProcesses(
  ofRole: number,
  env: Record<string, string>,
  random: Random,
  { program, roles = ['api', 'worker'] }: { program?: string; roles?: readonly Role[] } = {},
): Promise<Processes> {
  // One listener for each process that was ever started.
  process.setMaxListeners(0)
  const slots: Slot[] = []
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => {})
  for (const role of roles) {
    for (let place = 0; place < ofRole; place += 1) {
      slots.push({
        role,
        port: await freePort(),
        processes: 1 + (place % 2),
        skewMs: place % 2 === 0 ? SKEW_MS : -SKEW_MS,
        ends: [],
        errors: [],
        isStopped: false,
      })
    }
  }
  let main = program ?? (await bundledMain())
  const start = (slot: Slot) => {
    slot.starting = startSlot(main, slot, env).finally(() => {
      slot.starting = undefined
    })
    return slot.starting
  }
  const started = () => Promise.all(slots.map(({ starting }) => starting))
  await Promise.all(slots.map(start))
  return {
    addresses: slots.filter(({ role }) => role !== 'worker').map(({ port }) => `http://127.0.0.1:${port}`),
    kill: async (role) => {
      const own = slots.filter((slot) => slot.role === role)
      const running = () => own.filter(({ starting }) => starting === undefined)
      while (running().length === 0) await Promise.race(own.map(({ starting }) => starting))
      const slot = random.pick(running())
      await end(slot, 'SIGKILL')
      start(slot).catch((error) => failed.reject(error))
    },
    roll: async (program = main) => {
      main = program
      await started()
      for (const slot of slots) {
        await end(slot, 'SIGTERM')
        await start(slot)
      }
    },
    pause: async (ms) => {
      const pids = slots.flatMap(({ child }) => (child?.pid === undefined ? [] : [child.pid, ...childrenOf(child.pid)]))
      for (const pid of pids) signal(pid, 'SIGSTOP')
      await sleep(ms)
      for (const pid of pids) signal(pid, 'SIGCONT')
    },
    crashes: () => slots.flatMap(({ ends }) => ends),
    errors: () => slots.flatMap(({ errors }) => errors),
    started: async () => void (await Promise.race([started(), failed.promise])),
    stop: async () => void (await Promise.all(slots.map((slot) => end(slot, 'SIGTERM')))),
  }
}

/** A start that finds no database ends by itself, as documented: it is tried again, as by any supervisor. */
async function startSlot(main: string, slot: Slot, env: Record<string, string>): Promise<void> {
  const deadline = performance.now() + START_DEADLINE_MS
  for (;;) {
    const child = spawn(process.execPath, ['--import', SKEW, main, 'start'], {
      env: {
        PATH: process.env.PATH ?? '',
        ...env,
        PROCESSES: String(slot.processes),
        ROLE: slot.role,
        PORT: String(slot.port),
        CLOCK_SKEW_MS: String(slot.skewMs),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    slot.child = child
    slot.isStopped = false
    process.once('exit', () => child.kill('SIGKILL'))
    let output = ''
    let hasCrashed = false
    for (const input of [child.stdout, child.stderr]) {
      createInterface({ input }).on('line', (line) => {
        output = `${output}${line}\n`.slice(-10_000)
        if (/"level":(50|60)\b/.test(line)) slot.errors = [...slot.errors, line].slice(-KEPT_ERRORS)
        if (!/parley\.crashed|worker\.ended/.test(line)) return
        hasCrashed = true
        slot.ends.push(line)
      })
    }
    while (!output.includes('Parley listens on') && child.exitCode === null && child.signalCode === null)
      await sleep(50)
    if (output.includes('Parley listens on')) {
      child.once('exit', (code, signal) => {
        // one that said why it crashed is counted by its line
        if (!slot.isStopped && !hasCrashed) slot.ends.push(`${slot.role} ended with ${code ?? signal}`)
      })
      return
    }
    if (performance.now() > deadline) throw new Error(`A process of the service does not start:\n${output}`)
    await sleep(500)
  }
}

async function end(slot: Slot, signal: NodeJS.Signals): Promise<void> {
  const { child } = slot
  slot.isStopped = true
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill(signal)
  const late = setTimeout(() => child.kill('SIGKILL'), STOP_DEADLINE_MS)
  await exited
  clearTimeout(late)
}
