// Builds the console (console/dist) when its sources, openapi.json or the lock file changed since the last build.
// Runs on whatever Node the machine has. Vite runs on the Node 24 of the packages, or, where no install script fetched it
// (npm ci --ignore-scripts), on that of the machine.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const stampFile = join(root, 'console', 'dist', '.stamp')

/** Returns the exit code of the build: 0 without a build when nothing changed. */
export function buildConsole() {
  const stamp = stampOfSources()
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return 0
  console.log('Building the console …')
  const carried = join('node_modules', '.bin', process.platform === 'win32' ? 'node.cmd' : 'node')
  const { status } = spawnSync(
    existsSync(join(root, carried)) ? carried : 'node',
    [join('node_modules', 'vite', 'bin', 'vite.js'), 'build', 'console', '--logLevel', 'warn'],
    {
      cwd: root,
      stdio: 'inherit',
      shell: process.platform === 'win32',
      // With another value, React's development build would be packed.
      env: { ...process.env, NODE_ENV: 'production' },
    },
  )
  if (status === 0) writeFileSync(stampFile, stamp)
  return status ?? 1
}

function stampOfSources() {
  const sources = readdirSync(join(root, 'console'), { recursive: true })
    .map((name) => join('console', name))
    .filter((name) => !name.startsWith(join('console', 'dist')) && statSync(join(root, name)).isFile())
    .sort()
  const hash = createHash('sha256')
  for (const name of [...sources, 'openapi.json', 'package-lock.json']) {
    hash.update(`${name}\0`).update(readFileSync(join(root, name)))
  }
  return hash.digest('hex')
}
