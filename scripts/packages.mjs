// The installed packages: whether they are complete and of the lock file, and their installation.
import { createHash } from 'node:crypto'
import { closeSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { tryLock } from './file-lock.mjs'
import { readIfThere, root, writeIfDifferent } from './files.mjs'
import { runChild } from './run-child.mjs'
import { runStep } from './step.mjs'

const locked = join(root, 'package-lock.json')
/** npm writes it when all packages are there: the packages of this platform. */
const installed = join(root, 'node_modules', '.package-lock.json')
/** The digest of the lock file that the packages were installed from, and the number of names in their folders. */
const stampFile = join(root, 'node_modules', '.parley-lock')
/** Each running service holds a shared lock on it (bin/parley). */
const inUse = join(root, '.packages.lock')

/** Whether the set-up has found the packages complete, and none of their folders has lost a name since. */
export function packagesAreStamped() {
  const [digest, names] = readStamp()
  return digest === digestOf(locked) && countNames() >= Number(names)
}

/** The same for packages that were installed by hand and have no stamp: then the times decide. */
export const packagesAreComplete = () =>
  packagesAreStamped() || (readStamp().length < 2 && isNewerThanLockFile() && countNames() > 0)

export function stampPackages() {
  writeIfDifferent(stampFile, `${digestOf(locked)}\n${countNames()}`)
}

const readStamp = () => readIfThere(stampFile)?.split('\n') ?? []

const isNewerThanLockFile = () => existsSync(installed) && statSync(installed).mtimeMs >= statSync(locked).mtimeMs

/** The number of names in the folders of all packages; NaN when a package has no folder or the list of packages is missing. */
function countNames() {
  try {
    const { packages = {} } = JSON.parse(readFileSync(installed, 'utf8'))
    return Object.keys(packages).reduce((sum, path) => sum + readdirSync(join(root, path)).length, 1)
  } catch {
    return Number.NaN
  }
}

/**
 * Installs the packages with `npm ci`, which removes those that are there: not while a service runs on them. `locks` are the
 * descriptors of the locks that npm holds too, so that they outlive a killed set-up. Returns the exit code.
 */
export async function installPackages(locks) {
  const use = tryLock(inUse)
  if (use === undefined) {
    console.error(
      'Parley runs from this folder, and its packages have to be installed anew: stop it first, then start again',
    )
    return 1
  }
  // Until npm has ended, the packages are incomplete. Without a stamp the time of the list would count.
  for (const file of [installed, stampFile]) rmSync(file, { force: true })
  const startedMs = Date.now()
  const status = await runStep(
    'Installing packages (npm ci)',
    () => runNpm([...locks, use]),
    installProgress(startedMs),
  )
  closeSync(use)
  return status
}

/** NODE_ENV=production would leave out Node 24. */
function runNpm(locks) {
  const isWindows = process.platform === 'win32'
  const args = [
    'ci',
    '--include=dev',
    '--include=optional',
    '--no-audit',
    '--no-fund',
    '--no-progress',
    '--loglevel=error',
  ]
  const stdio = ['ignore', 'ignore', 'inherit', ...locks]
  return runChild(isWindows ? 'npm.cmd' : 'npm', args, { cwd: root, stdio, shell: isWindows })
}

function installProgress(startedMs) {
  const paths = pathsForThisPlatform()
  return () => {
    const done = paths.filter((path) => statSync(path, { throwIfNoEntry: false })?.ctimeMs >= startedMs).length
    return `${done} of about ${paths.length}`
  }
}

function pathsForThisPlatform() {
  const { packages = {} } = JSON.parse(readFileSync(locked, 'utf8'))
  const allows = (list, name) =>
    list === undefined || list.includes(name) || list.every((one) => one[0] === '!' && one !== `!${name}`)
  return Object.entries(packages)
    .filter(([path, { os, cpu }]) => path !== '' && allows(os, process.platform) && allows(cpu, process.arch))
    .map(([path]) => join(root, path, 'package.json'))
}

const digestOf = (path) => createHash('sha256').update(readFileSync(path)).digest('hex')
