import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { dataFolder } from './parley-process.ts'

const SCRIPTS = fileURLToPath(new URL('../scripts', import.meta.url))

/** A clone with a lock file and a console, on a machine whose `npm` notes its calls and installs a Node that builds nothing. */
function clone() {
  const folder = dataFolder()
  cpSync(SCRIPTS, join(folder, 'scripts'), { recursive: true })
  mkdirSync(join(folder, 'console', 'dist'), { recursive: true })
  mkdirSync(join(folder, 'path'))
  for (const name of ['openapi.json', 'package-lock.json']) writeFileSync(join(folder, name), '{}')
  const installs =
    'echo "$1" >> calls; rm -rf node_modules; mkdir -p node_modules/.bin; echo "#!/bin/sh" > node_modules/.bin/node; chmod +x node_modules/.bin/node; echo "{}" > node_modules/.package-lock.json'
  writeFileSync(join(folder, 'path', 'npm'), `#!/bin/sh\n${installs}\n`, { mode: 0o755 })
  const calls = () => {
    const file = join(folder, 'calls')
    const made = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
    rmSync(file, { force: true })
    return made
  }
  return {
    folder,
    lock: join(folder, 'package-lock.json'),
    /** The calls of npm that a set-up makes. */
    setUp: () => {
      const env = { PATH: `${join(folder, 'path')}:${process.env.PATH}` }
      const { status, stderr } = spawnSync(process.execPath, [join(folder, 'scripts', 'setup.mjs')], { env })
      expect(status, String(stderr)).toBe(0)
      return calls()
    },
  }
}

const inAnHour = () => new Date(Date.now() + 3_600_000)

test('packages are installed once, and again only when the lock file has other contents', () => {
  const { lock, setUp } = clone()
  expect(setUp()).toEqual(['ci'])
  expect(setUp()).toEqual([])
  // A checkout of another commit and back.
  utimesSync(lock, inAnHour(), inAnHour())
  expect(setUp()).toEqual([])
  writeFileSync(lock, '{"packages":{}}')
  expect(setUp()).toEqual(['ci'])
  expect(setUp()).toEqual([])
})

test('packages that were installed by hand are taken as they are unless the lock file is newer', () => {
  const { folder, lock, setUp } = clone()
  spawnSync(join(folder, 'path', 'npm'), ['by hand'], { cwd: folder })
  expect(setUp()).toEqual(['by hand'])
  spawnSync(join(folder, 'path', 'npm'), ['by hand'], { cwd: folder })
  utimesSync(lock, inAnHour(), inAnHour())
  expect(setUp()).toEqual(['by hand', 'ci'])
})
