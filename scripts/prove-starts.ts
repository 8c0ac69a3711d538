// Proves that the first `npm start` of a clone survives others and interruptions. In a clone of the last commit four
// first starts at once end with one service. Then the first start is interrupted at random moments, ten times unless an
// argument gives another number, and each time the next start works. Prints what happened; ends with code 1 when a
// start did not work.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../test/free-port.ts'

const ROUNDS = Number(process.argv[2] ?? 10)
const AT_ONCE = 4
const PATIENCE_MS = 30 * 60_000
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGKILL'] as const

const folder = mkdtempSync(join(tmpdir(), 'parley-starts-'))
const clone = join(folder, 'clone')
execFileSync('git', ['clone', '--quiet', fileURLToPath(new URL('..', import.meta.url)), clone])
const port = String(await freePort())
const sandboxPort = String(await freePort())
const failures: string[] = []
/** The process groups of the starts that have not ended. */
const living = new Set<number>()
for (const signal of SIGNALS.slice(0, 2)) process.on(signal, () => process.exit(1))
process.on('exit', () => {
  for (const group of living) killGroup(group, 'SIGKILL')
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})

await startAtOnce()
const firstMs = await timeOfFirstStart()
console.log(`A first start takes ${seconds(firstMs)}`)
for (let round = 0; round < ROUNDS; round += 1) await interrupt(round)
for (const failure of failures) console.error(`\n${failure}`)
process.exit(failures.length > 0 ? 1 : 0)

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`
}

/** Removes everything that is not in a clean clone. */
function clean(): void {
  execFileSync('git', ['clean', '-fdxq'], { cwd: clone })
}

/** `npm start` in a process group of its own, as a terminal's. */
function start() {
  const env = { ...process.env, PORT: port, SANDBOX_PORT: sandboxPort, LOG_LEVEL: 'warn' }
  const child = spawn('npm', ['start'], { cwd: clone, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  let hasEnded = false
  const { pid = 0 } = child
  living.add(pid)
  const ended = once(child, 'exit').then(() => {
    hasEnded = true
    living.delete(pid)
  })
  const says = async (text: string): Promise<boolean> => {
    for (let waitedMs = 0; waitedMs < PATIENCE_MS && !hasEnded; waitedMs += 50) {
      if (output.includes(text)) return true
      await sleep(50)
    }
    return output.includes(text)
  }
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    killGroup(pid, signal)
    await ended
  }
  return { says, end, ended, hasEnded: () => hasEnded, output: () => output }
}

function killGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal)
  } catch {
    // It has ended.
  }
}

type Start = ReturnType<typeof start>

async function works(parley: Start): Promise<boolean> {
  if (!(await parley.says('Parley listens on'))) return false
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
  return answer?.status === 200 && (await parley.says('Token:'))
}

async function timeOfFirstStart(): Promise<number> {
  clean()
  const startedAtMs = performance.now()
  const parley = start()
  if (!(await works(parley))) failures.push(`The first start did not work:\n${parley.output()}`)
  const tookMs = performance.now() - startedAtMs
  await parley.end('SIGTERM')
  return tookMs
}

async function interrupt(round: number): Promise<void> {
  clean()
  const afterMs = Math.random() * firstMs
  const signal = SIGNALS[round % SIGNALS.length] ?? 'SIGKILL'
  const first = start()
  await sleep(afterMs)
  await first.end(signal)
  const lastLine = first.output().trim().split('\n').at(-1)
  const second = start()
  const isFine = await works(second)
  await second.end('SIGTERM')
  console.log(`${isFine ? 'works' : 'FAILS'} after ${signal} at ${seconds(afterMs)}, which followed: ${lastLine}`)
  if (!isFine) failures.push(`After ${signal} at ${seconds(afterMs)}:\n${second.output()}`)
}

/** One of them serves; the others say why they end. */
async function startAtOnce(): Promise<void> {
  clean()
  const all = Array.from({ length: AT_ONCE }, start)
  await Promise.race([countEnded(all, AT_ONCE - 1), sleep(PATIENCE_MS, undefined, { ref: false })])
  const serving = all.filter((one) => !one.hasEnded())
  const others = all.filter((one) => one.hasEnded())
  for (const one of others) console.log(`ended: ${one.output().trim().split('\n').at(-1)}`)
  const reasons = others.filter((one) => /^(Another Parley .*|Port \d+ is in use: .*)$/m.test(one.output()))
  const [service] = serving
  const isFine = service !== undefined && (await works(service)) && reasons.length === AT_ONCE - 1
  console.log(`${isFine ? 'works' : 'FAILS'}: of ${AT_ONCE} starts at once ${serving.length} serves`)
  if (!isFine) failures.push(all.map((one) => one.output()).join('\n---\n'))
  await Promise.all(serving.map((one) => one.end('SIGTERM')))
}

function countEnded(all: Start[], count: number): Promise<void> {
  return new Promise((resolve) => {
    let ended = 0
    for (const one of all) {
      void one.ended.then(() => {
        ended += 1
        if (ended === count) resolve()
      })
    }
  })
}
