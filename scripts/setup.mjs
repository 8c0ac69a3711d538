// Runs before `npm start`, the tests and `npm run check`, on whatever Node the machine has: installs the packages when they are
// absent, incomplete or of another lock file, and builds the console and the service when they changed. The lock file is compared
// by its contents, since a checkout of another commit gives it a new time. One set-up of a clone works at a time. Without an
// argument it does what running needs; `tests` also installs the packages of the tests, which run the sources; `console` takes
// the packages as they are and builds the console only.
import { join } from 'node:path'
import { buildConsole, consoleIsBuilt } from './build/build-console.mjs'
import { buildService, serviceIsBuilt } from './build/build-service.mjs'
import { tryLock, waitForLock } from './file-lock.mjs'
import { root } from './files.mjs'
import { installPackages, isInUse, packagesAreComplete, packagesAreStamped, stampPackages } from './packages.mjs'

const [what = 'running'] = process.argv.slice(2)
const needsPackages = what !== 'console'
const withTests = what === 'tests'
const runsSources = what !== 'running'

if ((needsPackages && !packagesAreStamped(withTests)) || !isBuilt()) process.exitCode = await setUp()

/** Nothing is replaced below a service that runs: the next start runs the sources. */
function isBuilt() {
  return consoleIsBuilt() && (runsSources || serviceIsBuilt() || isInUse())
}

/** The end of this process unlocks the file. */
async function setUp() {
  const file = join(root, '.setup.lock')
  const lock = tryLock(file) ?? (await waitForLock(file, 'Waiting for another program that sets up this folder'))
  if (needsPackages) {
    const status = packagesAreComplete(withTests) ? 0 : await installPackages(withTests, [lock])
    if (status !== 0) return status
    stampPackages()
  }
  const status = consoleIsBuilt() ? 0 : await buildConsole()
  if (status !== 0) console.error('The console cannot be built; the lines above say why')
  if (status !== 0 || isBuilt()) return status
  return await buildService()
}
