import { readFileSync, statfsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atFileEnd } from './file-end.ts'
import { RUN_VARIABLE } from './run/clean-run.ts'

export const IN_MEMORY = '/dev/shm'
const ENOUGH_BYTES = 4 * 1024 ** 3

/** Where tests make folders with databases: the folder of the test run (run/run-folder.ts). */
export const temporaryFolder = (): string => process.env[RUN_VARIABLE] || roomyFolder()

/**
 * A place for databases, of 1,500 files each: the folder that Linux keeps in memory when it has 4 GiB to spare and programs may
 * run there, else that of the system.
 */
export function roomyFolder(): string {
  return process.platform === 'linux' && mayHoldPrograms() && freeBytes() >= ENOUGH_BYTES ? IN_MEMORY : tmpdir()
}

/** A folder of the test file's own, gone when it ends. */
export async function createTestFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-files-'))
  atFileEnd(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** In many containers they may not. */
function mayHoldPrograms(): boolean {
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n')
  const [, , , options] = mounts.map((line) => line.split(' ')).findLast(([, path]) => path === IN_MEMORY) ?? []
  return options !== undefined && !options.split(',').includes('noexec')
}

function freeBytes(): number {
  const { bavail, bsize } = statfsSync(IN_MEMORY)
  return bavail * bsize
}
