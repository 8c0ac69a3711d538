import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** The variable that names the folder of a test run to its processes. */
export const RUN_VARIABLE = 'PARLEY_TEST_RUN'
/** The list of the folders that a run has made elsewhere, in its own folder. */
export const ELSEWHERE = 'elsewhere'

const LOOKS = 200
const LOOK_MS = 50

/** Ends the processes of a test run and removes its folders. The owner of the run must have ended. */
export async function cleanRun(folder: string): Promise<void> {
  for (let look = 0; look < LOOKS; look += 1) {
    const processes = processesOf(folder)
    if (processes.length === 0) break
    for (const { pid, command } of processes) endProcess(pid, isPostmaster(command) && look < LOOKS / 2)
    await sleep(LOOK_MS)
  }
  // Disks that a test has mounted.
  for (const path of mountsBelow(folder)) spawnSync('umount', ['--lazy', path])
  for (const path of [...foldersElsewhere(folder), folder])
    rmSync(path, { recursive: true, force: true, maxRetries: 5 })
}

function mountsBelow(folder: string): string[] {
  try {
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n')
    return mounts.flatMap((line) => line.split(' ')[1] ?? []).filter((path) => path.startsWith(`${folder}/`))
  } catch {
    return []
  }
}

/** Whether the command is that of a PostgreSQL server: it ends its processes and removes its shared memory, unless it is killed. */
export const isPostmaster = (command: string): boolean => /^\S*\/postgres -D /.test(command)

export function endProcess(pid: number, asPostmaster: boolean): void {
  try {
    process.kill(pid, asPostmaster ? 'SIGQUIT' : 'SIGKILL')
    // A test may have stopped it.
    process.kill(pid, 'SIGCONT')
  } catch {
    // It has ended in between.
  }
}

/** Processes whose command or environment names the folder, except this one. Where there is no /proc, none is found. */
function processesOf(folder: string): { pid: number; command: string }[] {
  return namesOfProcesses()
    .filter((pid) => pid !== process.pid)
    .flatMap((pid) => {
      const command = read(pid, 'cmdline').join(' ')
      const isOfRun = command.includes(folder) || read(pid, 'environ').some((variable) => variable.includes(folder))
      return isOfRun ? [{ pid, command }] : []
    })
}

function namesOfProcesses(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger)
  } catch {
    return []
  }
}

function read(pid: number, file: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0')
  } catch {
    return []
  }
}

function foldersElsewhere(folder: string): string[] {
  try {
    return readFileSync(join(folder, ELSEWHERE), 'utf8').trim().split('\n')
  } catch {
    return []
  }
}
