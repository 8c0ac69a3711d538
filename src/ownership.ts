import { chownSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** Gives what root made in somebody's folder to that somebody, who will want to use it without being root. */
export function giveToFolderOwner(path: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(dirname(path))
  if (uid !== statSync(path).uid) chownSync(path, uid, gid)
}
