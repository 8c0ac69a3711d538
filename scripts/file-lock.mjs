// Locks of the operating system on files: they end with the last process that holds them, however it ends. Node has none, so
// flock (Linux) or Perl (macOS) asks for one on a descriptor that this process keeps open. Where a machine has neither, nothing
// is locked.
import { spawnSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { runChild } from './run-child.mjs'
import { runStep } from './step.mjs'

const FREE = 0
const BUSY = 1
const PERL = 'open(my $file, "+>&=", 3) or exit 2; exit(flock($file, $ARGV[0]) ? 0 : 1)'
const AT_ONCE = [
  ['flock', '--exclusive', '--nonblock', '3'],
  ['perl', '-e', PERL, '6'],
]
const AFTER_WAIT = [
  ['flock', '--exclusive', '3'],
  ['perl', '-e', PERL, '2'],
]

/**
 * Locks the file and returns its descriptor; undefined while another process has the lock. Closing the descriptor unlocks the
 * file, unless a child got it too: then its end does.
 */
export function tryLock(path) {
  const descriptor = openSync(path, 'a+')
  const isBusy = AT_ONCE.map(([program, ...args]) => spawnSync(program, args, options(descriptor)).status).find(
    (status) => status === FREE || status === BUSY,
  )
  if (isBusy !== BUSY) return descriptor
  closeSync(descriptor)
  return undefined
}

/** The same, but waits for the lock, and says what for. */
export async function waitForLock(path, title) {
  const descriptor = openSync(path, 'a+')
  await runStep(title, async () => {
    for (const [program, ...args] of AFTER_WAIT) {
      const status = await runChild(program, args, options(descriptor)).catch(() => undefined)
      if (status === FREE) return
    }
  })
  return descriptor
}

const options = (descriptor) => ({ stdio: ['ignore', 'ignore', 'ignore', descriptor] })
