// The installed packages: whether they are complete and of the lock file, and their installation. Running takes the packages of
// the service and of the folders `bin` and `console`; tests also take the development packages of package.json.
import { createHash } from 'node:crypto'
import { closeSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { tryLock } from './file-lock.mjs'
import { readIfThere, root, writeIfDifferent } from './files.mjs'
import { runChild } from './run-child.mjs'
import { runStep } from './step.mjs'

const locked = join(root, 'package-lock.json')
/** npm writes it when all packages are there: the packages that it installed on this platform. */
const installed = join(root, 'node_modules', '.package-lock.json')
/** The digest of the lock file that the packages were installed from, and the number of names in their folders. */
const stampFile = join(root, 'node_modules', '.parley-lock')
/** Each running service holds a shared lock on it (bin/parley). */
const inUse = join(root, '.packages.lock')

/** Whether the set-up has found the packages complete, and none of their folders has lost a name since. */
export function packagesAreStamped(withTests) {
  const [digest, names] = readStamp()
  const packages = installedPackages()
  return digest === digestOf(locked) && countNames(packages) >= Number(names) && (!withTests || hasTests(packages))
}

/** The same for packages that were installed by hand and have no stamp: then the times decide. */
export function packagesAreComplete(withTests) {
  if (packagesAreStamped(withTests)) return true
  const packages = installedPackages()
  const isByHand = readStamp().length < 2 && isNewerThanLockFile() && countNames(packages) > 0
  return isByHand && (!withTests || hasTests(packages))
}

export function stampPackages() {
  writeIfDifferent(stampFile, `${digestOf(locked)}\n${countNames(installedPackages())}`)
}

const readStamp = () => readIfThere(stampFile)?.split('\n') ?? []

const isNewerThanLockFile = () => existsSync(installed) && statSync(installed).mtimeMs >= statSync(locked).mtimeMs

const hasTests = (packages) => Object.values(packages).some(({ dev }) => dev)

/** The packages by their folders; none when the list is missing or incomplete. */
function installedPackages() {
  try {
    return JSON.parse(readFileSync(installed, 'utf8')).packages ?? {}
  } catch {
    return {}
  }
}

/** The number of names in the folders of the packages; NaN when a package has no folder or there is no package. */
function countNames(packages) {
  try {
    const names = Object.keys(packages).reduce((sum, path) => sum + readdirSync(join(root, path)).length, 0)
    return names || Number.NaN
  } catch {
    return Number.NaN
  }
}

/**
 * Installs the packages for running, or those and the packages of the tests. `npm ci` removes the packages that are there: not
 * while a service runs on them. The packages of the tests are added to complete packages for running, below a running service
 * too. `locks` are the descriptors of the locks that npm holds too, so that they outlive a killed set-up. Returns the exit code.
 */
export async function installPackages(withTests, locks) {
  if (withTests && packagesAreComplete(false)) {
    return await runNpm('Installing the packages of the tests', ['install', '--no-save', '--include=dev'], locks)
  }
  const use = tryLock(inUse)
  if (use === undefined) {
    console.error(
      'Parley runs from this folder, and its packages have to be installed again: stop it first, then start again',
    )
    return 1
  }
  const status = await runNpm(
    'Installing packages',
    ['ci', withTests ? '--include=dev' : '--omit=dev'],
    [...locks, use],
  )
  closeSync(use)
  return status
}

/** Whether a service runs from this folder. */
export function isInUse() {
  const use = tryLock(inUse)
  if (use !== undefined) closeSync(use)
  return use === undefined
}

async function runNpm(title, command, locks) {
  const progress = installProgress(command)
  // Until npm has ended, the packages are incomplete. Without a stamp the time of the list would count.
  for (const file of [installed, stampFile]) rmSync(file, { force: true })
  const isWindows = process.platform === 'win32'
  const args = [...command, '--include=optional', '--no-audit', '--no-fund', '--no-progress', '--loglevel=error']
  const stdio = ['ignore', 'ignore', 'inherit', ...locks]
  const run = () => runChild(isWindows ? 'npm.cmd' : 'npm', args, { cwd: root, stdio, shell: isWindows })
  return await runStep(`${title} (npm ${command[0]})`, run, progress)
}

function installProgress([command, ...options]) {
  const startedMs = Date.now()
  const isWanted = (dev = false) => (command === 'ci' ? !dev || options.includes('--include=dev') : dev)
  const paths = pathsForThisPlatform(isWanted)
  return () => {
    const done = paths.filter((path) => statSync(path, { throwIfNoEntry: false })?.ctimeMs >= startedMs).length
    return `${done} of about ${paths.length}`
  }
}

function pathsForThisPlatform(isWanted) {
  const { packages = {} } = JSON.parse(readFileSync(locked, 'utf8'))
  const allows = (list, name) =>
    list === undefined || list.includes(name) || list.every((one) => one[0] === '!' && one !== `!${name}`)
  return Object.entries(packages)
    .filter(([path, { dev, link }]) => path.startsWith('node_modules/') && !link && isWanted(dev))
    .filter(([, { os, cpu }]) => allows(os, process.platform) && allows(cpu, process.arch))
    .map(([path]) => join(root, path, 'package.json'))
}

const digestOf = (path) => createHash('sha256').update(readFileSync(path)).digest('hex')
