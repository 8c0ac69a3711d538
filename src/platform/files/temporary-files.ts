import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { diskCall, StorageFailure } from './storage-failure.ts'
import { makeWritableFolder } from './writable-folder.ts'

export type TemporaryFiles = {
  use<T>(work: (path: string) => Promise<T>): Promise<T>
}

const TOUCH_MS = 15_000
/** An untouched folder of another machine or container belongs to a dead process. */
const STALE_MS = 120_000
/** `PLACE-PID-START-RANDOM`: a place is a process id namespace on a booted machine. */
const FOLDER_NAME = /^([0-9a-f]{16})-([0-9]+)-([0-9]+)-[0-9a-f]{12}$/

/** Deletes folders of dead processes: local ones at once, others after two minutes. Throws UnusableFolder. */
export async function openTemporaryFiles(root: string): Promise<TemporaryFiles> {
  await makeWritableFolder(root)
  const folder = join(root, `${placeOf()}-${process.pid}-${startOf('self') ?? 0}-${randomBytes(6).toString('hex')}`)
  await mkdir(folder, { mode: 0o700 })
  const lookAgain = () => void removeDead(root, folder).catch(() => undefined)
  if ((await removeDead(root, folder)) > 0) setTimeout(lookAgain, STALE_MS + TOUCH_MS).unref()
  let open = 0
  let touching: NodeJS.Timeout | undefined
  return {
    use: async (work) => {
      open += 1
      touching ??= setInterval(() => void touch(folder), TOUCH_MS).unref()
      const path = join(folder, randomBytes(12).toString('hex'))
      const remove = () => rm(path, { force: true }).catch(() => undefined)
      try {
        await diskCall(() => mkdir(folder, { recursive: true, mode: 0o700 }))
        const result = await work(path)
        await remove()
        return result
      } catch (error) {
        const removal = remove()
        // A hanging disk must not block the caller.
        if (!(error instanceof StorageFailure)) await removal
        throw error
      } finally {
        open -= 1
        if (open === 0) {
          clearInterval(touching)
          touching = undefined
        }
      }
    },
  }
}

async function touch(folder: string): Promise<void> {
  const mark = join(folder, 'mark')
  await mkdir(mark).catch(() => undefined)
  await rm(mark, { recursive: true, force: true }).catch(() => undefined)
}

async function removeDead(root: string, own: string): Promise<number> {
  await touch(own)
  const nowMs = await modifiedMs(own)
  let unknown = 0
  for (const name of await readdir(root)) {
    const path = join(root, name)
    if (path === own || nowMs === undefined) continue
    const isAlive = isAliveHere(name)
    const isStale = isAlive === undefined && nowMs - ((await modifiedMs(path)) ?? nowMs) > STALE_MS
    if (isAlive === undefined && !isStale) unknown += 1
    if (isAlive === false || isStale) await rm(path, { recursive: true, force: true }).catch(() => undefined)
  }
  return unknown
}

const modifiedMs = (path: string): Promise<number | undefined> =>
  stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => undefined,
  )

/** Undefined: the process is elsewhere, or the name is foreign. */
function isAliveHere(name: string): boolean | undefined {
  const [, place, pid, start] = FOLDER_NAME.exec(name) ?? []
  if (place !== placeOf() || pid === undefined) return undefined
  try {
    process.kill(Number(pid), 0)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) return false
  }
  const found = startOf(pid)
  return found === undefined || found === start
}

/** Process ids are comparable within one namespace and boot; if neither is visible, on one host. */
function placeOf(): string {
  const place = readable(
    () => `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')} ${readlinkSync('/proc/self/ns/pid')}`,
  )
  return createHash('sha256')
    .update(place ?? hostname())
    .digest('hex')
    .slice(0, 16)
}

/** Start time in ticks since the boot; undefined if hidden. */
const startOf = (pid: string): string | undefined =>
  // The name of the program, which may contain spaces, ends with the last parenthesis.
  readable(() => readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ')[19])

function readable<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
