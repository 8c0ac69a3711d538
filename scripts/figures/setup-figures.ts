// Prints what `npm start` costs in a clone of the last commit: the installed packages, the time of the set-up, by turns with that of
// another checkout (`--root FOLDER`), the time of the starts, and the memory of the service when idle and under load. Imported by
// figures.ts.
import { execFileSync } from 'node:child_process'
import { globSync, lstatSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { meanOf } from '../../bench/average.ts'
import { byTurns } from '../../bench/by-turns.ts'
import { inboundOrder, startReceiver } from '../../bench/journeys.ts'
import { residentMegabytes, startProgram } from '../../bench/process.ts'
import { setStage } from '../../bench/stage.ts'
import { freePort } from '../../test/free-port.ts'

const MEGABYTE = 1024 ** 2
const IDLE_MS = 15_000
/** Receivers of each message under load, and the seconds that it lasts. */
const [RECEIVERS, LOAD_SECONDS] = [10, 20]
const { root } = parseArgs({ options: { root: { type: 'string' } }, allowPositionals: true }).values

const folder = mkdtempSync(join(tmpdir(), 'parley-figures-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
const clone = `${join(folder, 'own')}/`
const checkouts = { own: fileURLToPath(new URL('../..', import.meta.url)), ...(root !== undefined && { other: root }) }

const seconds = await byTurns(Object.keys(checkouts) as (keyof typeof checkouts)[], setUp, root === undefined ? 1 : 2)
show('set-up', meanOf(seconds.own), 's')
if (root !== undefined) {
  show('set-up of the other checkout', meanOf(seconds.other), 's')
  show('ratio of the two', meanOf(seconds.own) / meanOf(seconds.other), '')
}
show('packages', countPackages(), '')
show('their size without Node', megabytesBelow(join(clone, 'node_modules'), /^node\//), 'MB')
show('the size of Node', megabytesBelow(join(clone, 'node_modules/node'), /^$/), 'MB')
await start('first start after the set-up')
show('memory of the idle service', await start('second start', IDLE_MS), 'MB')
show('memory at its highest under load', await load(), 'MB')

/** Clones a checkout anew and sets it up; the seconds of the set-up. */
async function setUp(name: keyof typeof checkouts): Promise<number> {
  const target = join(folder, name)
  rmSync(target, { recursive: true, force: true })
  execFileSync('git', ['clone', '--quiet', checkouts[name] ?? '', target])
  const startedMs = performance.now()
  execFileSync('node', ['scripts/setup.mjs'], { cwd: target, stdio: ['ignore', 2, 2] })
  return (performance.now() - startedMs) / 1_000
}

/** Messages forwarded to several receivers, 64 webhooks in flight; the highest resident memory of the service. */
async function load(): Promise<number> {
  const stage = await setStage({ root: clone, env: { WEBHOOK_ALLOW_PRIVATE: 'true', PROCESSES: '1' } })
  try {
    const company = await stage.createCompany(8)
    const receiver = await startReceiver(stage)
    for (let i = 0; i < RECEIVERS; i += 1)
      await receiver.register(company, String(i), { secret: 'a secret of the figures' })
    await receiver.receive(stage.load.run({ ...inboundOrder(stage, company), seconds: LOAD_SECONDS }), RECEIVERS)
    return residentMegabytes(stage.service.pid).highest
  } finally {
    await stage.stop()
  }
}

function show(name: string, value: number, unit: string): void {
  console.log(`${name}: ${Number(value.toFixed(2))} ${unit}`.trim())
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
