import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, renameSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { FolderInUse, lockDataFolder, openDataFolder } from '../../src/db/embedded/folder.ts'
import { IN_MEMORY, roomyFolder } from '../temporary-folder.ts'
import { cleanRun, RUN_VARIABLE } from './clean-run.ts'

const WATCHER = fileURLToPath(new URL('./run-watcher.ts', import.meta.url))
const PREFIX = 'parley-run-'
/** Otherwise the garbage collector would end the lock. */
const locks: (() => void)[] = []

/**
 * Makes the folder of this test run, below which all its clusters are, and names it in the environment of the workers. When this
 * process ends, however that happens, a watcher ends what the run has left and removes the folder. If the watcher was
 * killed too, the next run does so. A second call in the same process changes nothing.
 */
export async function openRunFolder(): Promise<void> {
  if (process.env[RUN_VARIABLE]) return
  await cleanDeadRuns()
  const parent = roomyFolder()
  const unlocked = mkdtempSync(join(parent, 'parley-new-'))
  // Another run takes a folder without a lock for that of a dead one, so the name comes after the lock.
  locks.push(lockDataFolder(await openDataFolder(unlocked)))
  const folder = join(parent, basename(unlocked).replace('parley-new-', PREFIX))
  // A PostgreSQL server of the system runs under its own account, so that it must be able to reach its folder below.
  chmodSync(unlocked, 0o711)
  renameSync(unlocked, folder)
  const watcher = spawn(process.execPath, [WATCHER, folder], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  watcher.unref()
  process.env[RUN_VARIABLE] = folder
}

/** The lock of a folder ends with its run. */
export async function cleanDeadRuns(): Promise<void> {
  const folders = [...new Set([IN_MEMORY, tmpdir()])].flatMap((parent) =>
    namesIn(parent)
      .filter((name) => name.startsWith(PREFIX))
      .map((name) => join(parent, name)),
  )
  for (const folder of folders) {
    try {
      lockDataFolder(await openDataFolder(folder))()
    } catch (error) {
      if (error instanceof FolderInUse) continue
    }
    await cleanRun(folder)
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
