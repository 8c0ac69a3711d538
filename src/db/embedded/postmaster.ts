import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { StartError } from '../../platform/start-error.ts'

const ORPHAN_DEADLINE_MS = 60_000

/** For a parent to collect an ended process; in a container none may do so. */
const ZOMBIE_DEADLINE_MS = 5_000

export const readPostmasterPid = (cluster: string): Promise<number | undefined> =>
  readPid(join(cluster, 'postmaster.pid'))

async function readPid(lock: string): Promise<number | undefined> {
  const text = await readFile(lock, 'utf8').catch(() => '')
  const pid = Number(text.split('\n', 1)[0])
  return Number.isInteger(pid) && pid > 1 ? pid : undefined
}

/**
 * Stops a killed process's server. Removes the lock files of an ended server whose process id exists again: PostgreSQL
 * would believe it is running. Caller must hold the folder lock.
 */
export async function stopOrphan(cluster: string, socketLock: string): Promise<void> {
  for (const lock of [join(cluster, 'postmaster.pid'), socketLock]) {
    const pid = await readPid(lock)
    if (pid === undefined) continue
    if (isPostmaster(commandOf(pid) ?? [], cluster)) await stopPostmaster(pid, cluster)
    await untilCollected(pid)
    // A zombie, or another program after a reboot or in a new container.
    if (commandOf(pid) !== undefined) await rm(lock, { force: true })
  }
}

/** The children, which hold the shared memory, end in this time too. */
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

export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // The process has already ended.
  }
}

const isPostmaster = (command: string[], cluster: string): boolean => command[command.indexOf('-D') + 1] === cluster

function isZombie(pid: number): boolean {
  try {
    if (process.platform === 'linux') return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
    return execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).startsWith('Z')
  } catch {
    return false
  }
}

/** Returns the command line, empty for a zombie; undefined without such a process. */
function commandOf(pid: number): string[] | undefined {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    const line = execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).trim()
    return line.split(/ (?=-[Dc] )|(?<= -D) /)
  } catch {
    return undefined
  }
}
