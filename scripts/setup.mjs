// Runs before `npm start`, `npm test` and `npm run check`, on whatever Node the machine has: installs the packages when they are
// absent, incomplete or of another lock file, and builds the console when it changed. The lock file is compared by its contents,
// since a checkout of another commit gives it a new time. One set-up of a clone works at a time. Without an argument it installs
// what running needs; with `tests` the packages of the tests too; with `console` it takes the packages as they are.
import { join } from 'node:path'
import { buildConsole, consoleIsBuilt } from './build-console.mjs'
import { tryLock, waitForLock } from './file-lock.mjs'
import { root } from './files.mjs'
import { installPackages, packagesAreComplete, packagesAreStamped, stampPackages } from './packages.mjs'

const needsPackages = process.argv[2] !== 'console'
const withTests = process.argv[2] === 'tests'

if ((needsPackages && !packagesAreStamped(withTests)) || !consoleIsBuilt()) process.exitCode = await setUp()

/** The end of this process unlocks the file. */
async function setUp() {
  const file = join(root, '.setup.lock')
  const lock = tryLock(file) ?? (await waitForLock(file, 'Waiting for another program that sets up this folder'))
  if (needsPackages) {
    const status = packagesAreComplete(withTests) ? 0 : await installPackages(withTests, [lock])
    if (status !== 0) return status
    stampPackages()
  }
  if (consoleIsBuilt()) return 0
  const status = await buildConsole()
  if (status !== 0) console.error('The console cannot be built; the lines above say why')
  return status
}
