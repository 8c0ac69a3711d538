import { chownSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** Changes the owner of files that root created to the owner of their folder, for later use without root. */
export function giveToFolderOwner(path: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(dirname(path))
  if (uid !== statSync(path).uid) chownSync(path, uid, gid)
}
