// Runs before `npm start`, `npm test` and `npm run check`, on whatever Node the machine has: installs the packages when they are
// absent or of another lock file, and builds the console when it changed. The lock file is compared by its contents, since a
// checkout of another commit gives it a new time.
// NODE_ENV=production would leave out Node 24.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildConsole } from './build-console.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const installed = join(root, 'node_modules', '.package-lock.json')
const locked = join(root, 'package-lock.json')
/** In node_modules, so that it goes with the packages: the digest of the lock file that they were installed from. */
const stampFile = join(root, 'node_modules', '.parley-lock')
const stamp = createHash('sha256').update(readFileSync(locked)).digest('hex')

if (!isInstalled()) {
  console.log('Installing packages (npm ci) …')
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  const { status } = spawnSync(
    npm,
    ['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'],
    {
      cwd: root,
      stdio: 'inherit',
      shell: process.platform === 'win32',
    },
  )
  if (status !== 0) process.exit(status ?? 1)
}

writeFileSync(stampFile, stamp)

if (buildConsole() !== 0) {
  console.error('The console cannot be built; the lines above say why')
  process.exit(1)
}

/** Packages that were installed by hand have no stamp; then the times decide. */
function isInstalled() {
  if (!existsSync(installed)) return false
  if (existsSync(stampFile)) return readFileSync(stampFile, 'utf8') === stamp
  return statSync(installed).mtimeMs >= statSync(locked).mtimeMs
}
