import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { dataFolder, until } from '../parley-process.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const hasFlock = spawnSync('flock', ['--version']).status === 0

/**
 * Writes its command and what it leaves out or adds to `calls`, waits while the file `hold` exists, and installs two packages,
 * a Node that bundles by copying the sources, and the package of the tests unless it is left out. With the file `fails` it ends
 * first, as npm does when it is killed while it removes the old packages.
 */
const NPM = `#!/bin/sh
echo "$1$(echo "$*" | grep -o ' --[a-z]*=dev')" >> calls
[ "$1" = install ] || rm -rf node_modules/one
while [ -e hold ]; do sleep 0.02; done
[ -e fails ] && exit 3
[ "$1" = install ] || rm -rf node_modules
mkdir -p node_modules/.bin node_modules/one/lib node_modules/two
touch node_modules/one/package.json node_modules/two/package.json
printf '#!/bin/sh\\n[ "$1" != scripts/build/bundle.mjs ] || cp -R src "$2"\\n' > node_modules/.bin/node
chmod +x node_modules/.bin/node
tests=
case "$*" in *--omit=dev*) ;; *) mkdir -p node_modules/tests; tests=',"node_modules/tests":{"dev":true}' ;; esac
echo '{"packages":{"node_modules/one":{},"node_modules/two":{}'"$tests"'}}' > node_modules/.package-lock.json
`
/** The commands of npm. */
const CI = 'ci --omit=dev'
const CI_WITH_TESTS = 'ci --include=dev'
const ADD_TESTS = 'install --include=dev'

/** A clone with a lock file and a console, on a machine with the `npm` above. */
function clone() {
  const folder = dataFolder()
  const at = (...names: string[]) => join(folder, ...names)
  cpSync(join(ROOT, 'scripts'), at('scripts'), { recursive: true })
  mkdirSync(at('console', 'dist'), { recursive: true })
  for (const name of ['path', 'src', 'sandbox', 'migrations', 'client/src']) mkdirSync(at(name), { recursive: true })
  for (const name of ['openapi.json', 'package-lock.json', 'package.json']) writeFileSync(at(name), '{}')
  writeFileSync(at('path', 'npm'), NPM, { mode: 0o755 })
  /** The calls of npm since the last time that they were read. */
  const calls = () => {
    const logged = existsSync(at('calls')) ? readFileSync(at('calls'), 'utf8').trim().split('\n') : []
    rmSync(at('calls'), { force: true })
    return logged
  }
  const start = (...what: 'tests'[]) => {
    const env = { PATH: `${at('path')}:${process.env.PATH}` }
    const child = spawn(process.execPath, [at('scripts', 'setup.mjs'), ...what], { env, detached: true })
    return observe(child)
  }
  /** Starts a set-up whose npm waits until the file `hold` is removed. */
  const startHeld = async () => {
    writeFileSync(at('hold'), '')
    const setup = start()
    await until('npm runs', () => existsSync(at('calls')))
    return setup
  }
  const setUp = async (...what: 'tests'[]) => {
    const setup = start(...what)
    expect(await setup.exited, setup.output()).toBe(0)
    return calls()
  }
  return { folder, at, calls, start, startHeld, setUp, lock: at('package-lock.json') }
}

function observe(child: ChildProcess) {
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += String(chunk)))
  const exited = once(child, 'exit').then(([code]) => code as number | null)
  return { pid: child.pid!, output: () => output, exited }
}

const inAnHour = () => new Date(Date.now() + 3_600_000)

test('packages are installed once, and again only when the lock file has other contents', async () => {
  const { lock, setUp } = clone()
  expect(await setUp()).toEqual([CI])
  expect(await setUp()).toEqual([])
  // A checkout of another commit and back.
  utimesSync(lock, inAnHour(), inAnHour())
  expect(await setUp()).toEqual([])
  writeFileSync(lock, '{"packages":{}}')
  expect(await setUp()).toEqual([CI])
  expect(await setUp()).toEqual([])
})

test('packages that were installed by hand are taken as they are unless the lock file is newer', async () => {
  const { at, folder, lock, setUp } = clone()
  spawnSync(at('path', 'npm'), ['by hand'], { cwd: folder })
  expect(await setUp()).toEqual(['by hand'])
  spawnSync(at('path', 'npm'), ['by hand'], { cwd: folder })
  utimesSync(lock, inAnHour(), inAnHour())
  expect(await setUp()).toEqual(['by hand', CI])
})

test('running installs no packages of the tests, and tests add them to it', async () => {
  const { setUp } = clone()
  expect(await setUp()).toEqual([CI])
  expect(await setUp('tests')).toEqual([ADD_TESTS])
  for (const what of [[], ['tests']] as 'tests'[][]) expect(await setUp(...what)).toEqual([])
})

test('tests install everything at once in a new clone, and running needs nothing more', async () => {
  const { setUp } = clone()
  expect(await setUp('tests')).toEqual([CI_WITH_TESTS])
  expect(await setUp()).toEqual([])
})

test('packages of the tests that were not added completely are installed again with all others', async () => {
  const { at, calls, setUp, start } = clone()
  await setUp()
  writeFileSync(at('fails'), '')
  expect(await start('tests').exited).toBe(3)
  expect(calls()).toEqual([ADD_TESTS])
  rmSync(at('fails'))
  expect(await setUp('tests')).toEqual([CI_WITH_TESTS])
})

test('dist is built when a source changed, for running and not for tests', async () => {
  const { at, setUp } = clone()
  await setUp()
  writeFileSync(at('src', 'new.sql'), '')
  await setUp('tests')
  expect(existsSync(at('dist', 'src', 'new.sql'))).toBe(false)
  await setUp()
  expect(existsSync(at('dist', 'src', 'new.sql'))).toBe(true)
})

test('a set-up that has nothing to do writes nothing', async () => {
  const { at, setUp } = clone()
  await setUp()
  const written = () =>
    [at('node_modules', '.parley-lock'), at('console', 'dist', '.stamp')].map((file) => {
      const { ino, mtimeMs } = statSync(file)
      return { ino, mtimeMs }
    })
  const before = written()
  await setUp()
  expect(written()).toEqual(before)
})

test.each([
  ['a package', ['one']],
  ['a folder of a package', ['one', 'lib']],
  ['the list of packages', ['.package-lock.json']],
  ['the stamp and a package', ['.parley-lock', 'one']],
])('packages that have lost %s are installed again', async (_, lost) => {
  const { at, setUp } = clone()
  await setUp()
  const paths = lost[0]?.startsWith('.parley') ? lost : [join(...lost)]
  for (const path of paths) rmSync(at('node_modules', path), { recursive: true })
  expect(await setUp()).toEqual([CI])
  expect(await setUp()).toEqual([])
})

test('an installation that failed halfway never looks complete, even for the lock file before it', async () => {
  const { at, calls, lock, setUp, start } = clone()
  await setUp()
  writeFileSync(lock, '{"packages":{}}')
  writeFileSync(at('fails'), '')
  expect(await start().exited).toBe(3)
  expect(calls()).toEqual([CI])
  rmSync(at('fails'))
  writeFileSync(lock, '{}')
  expect(await setUp()).toEqual([CI])
})

test.skipIf(!hasFlock)('of two set-ups at once one installs, and the other says that it waits', async () => {
  const { at, calls, start, startHeld } = clone()
  const first = await startHeld()
  const second = start()
  await until('the second waits', () =>
    second.output().includes('Waiting for another program that sets up this folder'),
  )
  rmSync(at('hold'))
  expect([await first.exited, await second.exited]).toEqual([0, 0])
  expect(calls()).toEqual([CI])
})

test.skipIf(!hasFlock)('a set-up waits for the npm of one that was killed, and takes what it installed', async () => {
  const { at, calls, start, startHeld } = clone()
  const first = await startHeld()
  process.kill(first.pid, 'SIGKILL')
  await first.exited
  const second = start()
  await until('the second waits', () =>
    second.output().includes('Waiting for another program that sets up this folder'),
  )
  rmSync(at('hold'))
  expect(await second.exited, second.output()).toBe(0)
  expect(calls()).toEqual([CI])
})

test.skipIf(!hasFlock).each(['SIGKILL', 'SIGINT', 'SIGTERM'] as const)(
  'a set-up that ends by %s with its npm keeps no lock, and the next one installs',
  async (signal) => {
    const { at, calls, startHeld, setUp } = clone()
    const first = await startHeld()
    // As Ctrl-C at a terminal does: the whole process group.
    process.kill(-first.pid, signal)
    expect(await first.exited).not.toBe(0)
    expect(calls()).toEqual([CI])
    rmSync(at('hold'))
    expect(await setUp()).toEqual([CI])
  },
)

test.skipIf(!hasFlock)('packages are not replaced below a service that runs', async () => {
  const { at, calls, lock, setUp, start } = clone()
  await setUp()
  mkdirSync(at('bin'))
  cpSync(join(ROOT, 'bin', 'parley'), at('bin', 'parley'))
  writeFileSync(at('src', 'main.ts'), "console.log('runs')\nsetInterval(() => {}, 1_000)\n")
  rmSync(at('node_modules', '.bin', 'node'))
  symlinkSync(process.execPath, at('node_modules', '.bin', 'node'))
  writeFileSync(at('src', 'changed.sql'), '')
  const service = observe(spawn(at('bin', 'parley'), ['start'], { stdio: ['ignore', 'pipe', 'inherit'] }))
  await until('the service runs', () => service.output().includes('runs'))
  expect(await setUp()).toEqual([])
  expect(await setUp('tests')).toEqual([ADD_TESTS])
  // The service that runs may still load a part of its bundle.
  expect(existsSync(at('dist', 'src', 'changed.sql'))).toBe(false)

  writeFileSync(lock, '{"packages":{}}')
  const refused = start()
  expect(await refused.exited).toBe(1)
  expect(refused.output()).toContain(
    'Parley runs from this folder, and its packages have to be installed again: stop it first',
  )
  expect(calls()).toEqual([])
  process.kill(service.pid, 'SIGKILL')
  await service.exited
  expect(await setUp()).toEqual([CI])
  expect(existsSync(at('dist', 'src', 'changed.sql'))).toBe(true)
})
