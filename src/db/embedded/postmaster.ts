import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { StartError } from '../../platform/start-error.ts'

const ORPHAN_DEADLINE_MS = 60_000

/** Of a process that has ended, for its parent to read how: in a container it may have none that does. */
const ZOMBIE_DEADLINE_MS = 5_000

/** The process id that the cluster's running, or killed, server noted. */
export const readPostmasterPid = (cluster: string): Promise<number | undefined> =>
  readPid(join(cluster, 'postmaster.pid'))

async function readPid(lock: string): Promise<number | undefined> {
  const text = await readFile(lock, 'utf8').catch(() => '')
  const pid = Number(text.split('\n', 1)[0])
  return Number.isInteger(pid) && pid > 1 ? pid : undefined
}

/**
 * Waits for the server of a killed process to end, and asks it to, since its keeper may be dead too. Removes the lock
 * files of a server that has ended when its process id still exists: PostgreSQL would take it for running.
 * Only for the holder of the folder's lock: no other server can be running then.
 */
export async function stopOrphan(cluster: string, socketLock: string): Promise<void> {
  for (const lock of [join(cluster, 'postmaster.pid'), socketLock]) {
    const pid = await readPid(lock)
    if (pid === undefined) continue
    if (isPostmaster(commandOf(pid) ?? [], cluster)) await stopPostmaster(pid, cluster)
    await untilCollected(pid)
    // A dead process that nothing collects, or another program, after a restart of the machine or in a new container.
    if (commandOf(pid) !== undefined) await rm(lock, { force: true })
  }
}

/** Its children, which hold the shared memory, end in this time too. */
async function untilCollected(pid: number): Promise<void> {
  for (let waitedMs = 0; waitedMs < ZOMBIE_DEADLINE_MS && isZombie(pid); waitedMs += 50) await sleep(50)
}

async function stopPostmaster(pid: number, cluster: string): Promise<void> {
  signal(pid, 'SIGINT')
  for (let waitedMs = 0; waitedMs < ORPHAN_DEADLINE_MS; waitedMs += 50) {
    if (!isPostmaster(commandOf(pid) ?? [], cluster)) return
    await sleep(50)
  }
  throw new StartError(
    `A PostgreSQL left behind (process ${pid}) still holds ${cluster} and does not stop: end it with kill -QUIT ${pid}`,
  )
}

/** Sends a signal to a process that may be gone already. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It ended in between, which is what a signal was to bring about.
  }
}

const isPostmaster = (command: string[], cluster: string): boolean => command[command.indexOf('-D') + 1] === cluster

/** A process that has ended and still has its number, until its parent reads how it ended. */
function isZombie(pid: number): boolean {
  try {
    if (process.platform === 'linux') return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
    return execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).startsWith('Z')
  } catch {
    return false
  }
}

/** The arguments of a process's command, empty for a zombie; undefined when there is no such process. */
function commandOf(pid: number): string[] | undefined {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    const line = execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).trim()
    return line.split(/ (?=-[Dc] )|(?<= -D) /)
  } catch {
    return undefined
  }
}
