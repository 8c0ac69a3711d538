// Prints what `npm start` costs in a clone of the last commit: the installed packages, the time of the set-up, the time of a
// second start and the memory of the idle service. Imported by figures.ts.
import { execFileSync } from 'node:child_process'
import { globSync, lstatSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../bench/free-port.ts'
import { residentMegabytes, startProgram } from '../../bench/process.ts'

const MEGABYTE = 1024 ** 2
const IDLE_MS = 15_000
const [, commit = 'HEAD'] = process.argv.slice(2)

const folder = mkdtempSync(join(tmpdir(), 'parley-figures-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
const clone = `${join(folder, 'clone')}/`
const repository = fileURLToPath(new URL('../..', import.meta.url))
execFileSync('git', ['clone', '--quiet', repository, clone])
execFileSync('git', ['checkout', '--quiet', '--detach', commit], { cwd: clone })

const setupSeconds = timed(() => execFileSync('node', ['scripts/setup.mjs'], { cwd: clone, stdio: ['ignore', 2, 2] }))
show('set-up', setupSeconds, 's')
show('packages', countPackages(), '')
show('their size without Node', megabytesBelow(join(clone, 'node_modules'), /^node\//), 'MB')
show('the size of Node', megabytesBelow(join(clone, 'node_modules/node'), /^$/), 'MB')
await start('first start after the set-up')
const megabytes = await start('second start', IDLE_MS)
show('memory of the idle service', megabytes, 'MB')

function show(name: string, value: number, unit: string): void {
  console.log(`${name}: ${Number(value.toFixed(1))} ${unit}`.trim())
}

function timed(run: () => void): number {
  const startedMs = performance.now()
  run()
  return (performance.now() - startedMs) / 1_000
}

function countPackages(): number {
  const list: unknown = JSON.parse(readFileSync(join(clone, 'node_modules/.package-lock.json'), 'utf8'))
  const { packages } = Object(list)
  return Object.keys(packages).filter((path) => path.startsWith('node_modules/') && !packages[path].link).length
}

/** A file with several names, as Node has, counts once. */
function megabytesBelow(path: string, excluded: RegExp): number {
  const names = globSync('**', { cwd: path }).filter((name) => !excluded.test(name))
  const sizes = new Map(
    names.map((name) => lstatSync(join(path, name))).map(({ dev, ino, size }) => [`${dev} ${ino}`, size]),
  )
  return [...sizes.values()].reduce((sum, size) => sum + size, 0) / MEGABYTE
}

/** Starts and stops the service without the sandbox; its resident memory after the idle time. */
async function start(name: string, idleMs = 0): Promise<number> {
  const startedMs = performance.now()
  const service = await startProgram({
    script: 'bin/parley',
    args: ['start'],
    env: { PORT: String(await freePort()), SANDBOX: 'off', PROCESSES: '1', DATA_DIR: join(folder, 'data') },
    outputFile: join(folder, 'output'),
    ready: /(Parley listens on .*)/,
    root: clone,
  })
  show(name, (performance.now() - startedMs) / 1_000, 's')
  await sleep(idleMs)
  const { now } = residentMegabytes(service.pid)
  await service.stop()
  return now
}
