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
import { dataFolder, until } from './parley-process.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const hasFlock = spawnSync('flock', ['--version']).status === 0

/**
 * Writes its argument to `calls`, waits while the file `hold` exists, and installs two packages and a Node that builds nothing.
 * With the file `fails` it ends first, as npm does when it is killed while it removes the old packages.
 */
const NPM = `#!/bin/sh
echo "$1" >> calls
rm -rf node_modules/one
while [ -e hold ]; do sleep 0.02; done
[ -e fails ] && exit 3
rm -rf node_modules
mkdir -p node_modules/.bin node_modules/one/lib node_modules/two
touch node_modules/one/package.json node_modules/two/package.json
printf '#!/bin/sh\\n' > node_modules/.bin/node
chmod +x node_modules/.bin/node
echo '{"packages":{"node_modules/one":{},"node_modules/two":{}}}' > node_modules/.package-lock.json
`

/** A clone with a lock file and a console, on a machine with the `npm` above. */
function clone() {
  const folder = dataFolder()
  const at = (...names: string[]) => join(folder, ...names)
  cpSync(join(ROOT, 'scripts'), at('scripts'), { recursive: true })
  mkdirSync(at('console', 'dist'), { recursive: true })
  mkdirSync(at('path'))
  for (const name of ['openapi.json', 'package-lock.json']) writeFileSync(at(name), '{}')
  writeFileSync(at('path', 'npm'), NPM, { mode: 0o755 })
  /** The calls of npm since the last time that they were read. */
  const calls = () => {
    const made = existsSync(at('calls')) ? readFileSync(at('calls'), 'utf8').trim().split('\n') : []
    rmSync(at('calls'), { force: true })
    return made
  }
  const start = () => {
    const env = { PATH: `${at('path')}:${process.env.PATH}` }
    const child = spawn(process.execPath, [at('scripts', 'setup.mjs')], { env, detached: true })
    return observe(child)
  }
  /** Starts a set-up whose npm waits until the file `hold` is removed. */
  const startHeld = async () => {
    writeFileSync(at('hold'), '')
    const setup = start()
    await until('npm runs', () => existsSync(at('calls')))
    return setup
  }
  const setUp = async () => {
    const setup = start()
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
  expect(await setUp()).toEqual(['ci'])
  expect(await setUp()).toEqual([])
  // A checkout of another commit and back.
  utimesSync(lock, inAnHour(), inAnHour())
  expect(await setUp()).toEqual([])
  writeFileSync(lock, '{"packages":{}}')
  expect(await setUp()).toEqual(['ci'])
  expect(await setUp()).toEqual([])
})

test('packages that were installed by hand are taken as they are unless the lock file is newer', async () => {
  const { at, folder, lock, setUp } = clone()
  spawnSync(at('path', 'npm'), ['by hand'], { cwd: folder })
  expect(await setUp()).toEqual(['by hand'])
  spawnSync(at('path', 'npm'), ['by hand'], { cwd: folder })
  utimesSync(lock, inAnHour(), inAnHour())
  expect(await setUp()).toEqual(['by hand', 'ci'])
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
])('packages that have lost %s are installed anew', async (_, lost) => {
  const { at, setUp } = clone()
  await setUp()
  const paths = lost[0]?.startsWith('.parley') ? lost : [join(...lost)]
  for (const path of paths) rmSync(at('node_modules', path), { recursive: true })
  expect(await setUp()).toEqual(['ci'])
  expect(await setUp()).toEqual([])
})

test('an installation that failed halfway never looks complete, even for the lock file before it', async () => {
  const { at, calls, lock, setUp, start } = clone()
  await setUp()
  writeFileSync(lock, '{"packages":{}}')
  writeFileSync(at('fails'), '')
  expect(await start().exited).toBe(3)
  expect(calls()).toEqual(['ci'])
  rmSync(at('fails'))
  writeFileSync(lock, '{}')
  expect(await setUp()).toEqual(['ci'])
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
  expect(calls()).toEqual(['ci'])
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
  expect(calls()).toEqual(['ci'])
})

test.skipIf(!hasFlock).each(['SIGKILL', 'SIGINT', 'SIGTERM'] as const)(
  'a set-up that ends by %s with its npm keeps no lock, and the next one installs',
  async (signal) => {
    const { at, calls, startHeld, setUp } = clone()
    const first = await startHeld()
    // As Ctrl-C at a terminal does: the whole process group.
    process.kill(-first.pid, signal)
    expect(await first.exited).not.toBe(0)
    expect(calls()).toEqual(['ci'])
    rmSync(at('hold'))
    expect(await setUp()).toEqual(['ci'])
  },
)

test.skipIf(!hasFlock)('packages are not replaced below a service that runs', async () => {
  const { at, calls, lock, setUp, start } = clone()
  await setUp()
  for (const folder of ['bin', 'src']) mkdirSync(at(folder))
  cpSync(join(ROOT, 'bin', 'parley'), at('bin', 'parley'))
  writeFileSync(at('src', 'main.ts'), "console.log('runs')\nsetInterval(() => {}, 1_000)\n")
  rmSync(at('node_modules', '.bin', 'node'))
  symlinkSync(process.execPath, at('node_modules', '.bin', 'node'))
  const service = observe(spawn(at('bin', 'parley'), ['start'], { stdio: ['ignore', 'pipe', 'inherit'] }))
  await until('the service runs', () => service.output().includes('runs'))
  expect(await setUp()).toEqual([])

  writeFileSync(lock, '{"packages":{}}')
  const refused = start()
  expect(await refused.exited).toBe(1)
  expect(refused.output()).toContain(
    'Parley runs from this folder, and its packages have to be installed anew: stop it first',
  )
  expect(calls()).toEqual([])
  process.kill(service.pid, 'SIGKILL')
  await service.exited
  expect(await setUp()).toEqual(['ci'])
})
