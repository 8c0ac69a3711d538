import { chownSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** Gives files created by root to their folder's owner, for later use without root. */
export function giveToFolderOwner(path: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(dirname(path))
  if (uid !== statSync(path).uid) chownSync(path, uid, gid)
}
