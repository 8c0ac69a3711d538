// Builds the console (console/dist) when its sources, those of the client or the lock file changed since the last build.
// Runs on whatever Node the machine has.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { carriedNode, readIfThere, root, writeIfDifferent } from '../files.mjs'
import { runChild } from '../run-child.mjs'
import { runStep } from '../step.mjs'

const stampFile = join(root, 'console', 'dist', '.stamp')

export const consoleIsBuilt = () => readIfThere(stampFile) === stampOfSources()

/** Builds it and returns the exit code. */
export async function buildConsole() {
  const stamp = stampOfSources()
  // A build that is interrupted leaves a part of the files.
  rmSync(stampFile, { force: true })
  const status = await runStep('Building the console', runVite)
  if (status === 0) writeIfDifferent(stampFile, stamp)
  return status
}

function runVite() {
  return runChild(
    carriedNode(),
    [join('node_modules', 'vite', 'bin', 'vite.js'), 'build', 'console', '--logLevel', 'warn'],
    {
      cwd: root,
      shell: process.platform === 'win32',
      // With another value, React's development build would be packed.
      env: { ...process.env, NODE_ENV: 'production' },
    },
  )
}

function stampOfSources() {
  const sources = ['console', join('client', 'src')]
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, name)))
    .filter((name) => !name.startsWith(join('console', 'dist')) && statSync(join(root, name)).isFile())
    .sort()
  const hash = createHash('sha256')
  for (const name of [...sources, 'package-lock.json']) {
    hash.update(`${name}\0`).update(readFileSync(join(root, name)))
  }
  return hash.digest('hex')
}
