import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { StartError } from '../start-error.ts'

const ORPHAN_DEADLINE_MS = 60_000

/** The process id that the cluster's running, or killed, server noted. */
export async function readPostmasterPid(cluster: string): Promise<number | undefined> {
  const text = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '')
  const pid = Number(text.split('\n', 1)[0])
  return Number.isInteger(pid) && pid > 1 ? pid : undefined
}

/**
 * Waits for the server of a process that was killed to end, and asks it to, since its keeper may be dead too.
 * To be called by the holder of the folder's lock: nobody else's server can be running then.
 */
export async function stopOrphan(cluster: string): Promise<void> {
  const pid = await readPostmasterPid(cluster)
  if (pid === undefined) return
  const command = commandOf(pid)
  if (command === undefined) return
  // The number went to another program, after a restart of the machine or in a new container. PostgreSQL
  // would believe that its server still runs.
  if (!isPostmaster(command, cluster)) return rm(join(cluster, 'postmaster.pid'), { force: true })
  await stopPostmaster(pid, cluster)
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

/** The words of a living process's command; a dead one that nobody has collected has none. */
function commandOf(pid: number): string[] | undefined {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    const line = execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).trim()
    return line.split(/ (?=-[Dc] )|(?<= -D) /)
  } catch {
    return undefined
  }
}
