import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, statfsSync } from 'node:fs'

const SIZE = '4g'

/** Mounts a disk in memory at a folder, where this user may; else the folder stays on the disk of the system. */
export function mountDisk(folder: string): string {
  if (process.getuid?.() === 0) spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE},mode=0700`, 'tmpfs', folder])
  return folder
}

/** Takes all free bytes of the disk at a folder; the function returned gives them back. Undefined: it has none of its own. */
export function fillDisk(folder: string): (() => void) | undefined {
  if (!isMounted(folder)) return undefined
  // Refused when more was written meanwhile.
  while (resize(folder, usedBytes(folder)).status !== 0);
  return () => {
    const { status, stderr } = resize(folder, SIZE)
    if (status !== 0) throw new Error(`The disk cannot be resized: ${stderr}`)
  }
}

/** Whether this user may mount a disk. */
export const canMount = (): boolean =>
  process.getuid?.() === 0 && spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0

/** Makes the disk of its own that a folder has read-only. */
export function makeReadOnly(folder: string): void {
  const { status, stderr } = spawnSync('mount', ['-o', 'remount,ro', folder])
  if (status !== 0) throw new Error(`The disk cannot be made read-only: ${stderr}`)
}

function usedBytes(folder: string): string {
  const { blocks, bfree, bsize } = statfsSync(folder)
  return String((blocks - bfree) * bsize)
}

export function removeDisk(folder: string): void {
  if (isMounted(folder)) spawnSync('umount', ['--lazy', folder])
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

const resize = (folder: string, size: string) => spawnSync('mount', ['-o', `remount,size=${size}`, folder])

const isMounted = (folder: string): boolean =>
  readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .some((line) => line.split(' ')[1] === folder)
