/** The comparison with what a good engineer builds in a day from well-kept parts: the programs of bench/peers. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { meanOf } from '../average.ts'
import { type BenchContext, byTurns } from '../bench.ts'
import { type Cost, joinCosts, reasonOf } from '../cost.ts'
import { ratioFigure } from '../figure.ts'
import { freePort } from '../free-port.ts'
import type { Stage } from '../stage.ts'

/** One of two that are given the same load. */
export type Contender = {
  name: string
  /** As much as it can do in about so many seconds. */
  full(seconds: number): Promise<{ count: number; perSecond: number; cost: Cost }>
  /** The p99 in ms at a constant rate. */
  half?(perSecond: number, seconds: number): Promise<number>
}

const FOLDER = fileURLToPath(new URL('.', import.meta.url))

/** Whether the packages of the peers are there; installs them when they are not, or are of an older lock file. */
export function peersAreInstalled({ say }: BenchContext): boolean {
  const [installed, locked] = ['node_modules/.package-lock.json', 'package-lock.json'].map((file) => join(FOLDER, file))
  const timeOf = (file = '') => (existsSync(file) ? statSync(file).mtimeMs : 0)
  if (timeOf(installed) >= timeOf(locked)) return true
  say('installing the packages of bench/peers')
  try {
    execFileSync('npm', ['ci', '--ignore-scripts'], { cwd: FOLDER, stdio: ['ignore', 'ignore', 'inherit'] })
    return true
  } catch {
    say('the packages of bench/peers cannot be installed: the comparison is left out')
    return false
  }
}

/**
 * Both by turns at full load, then both at half of the slower one's rate: Parley is to be ahead of the peer in each. The
 * reason of a goal that is missed is the processor time that each of them took.
 */
export async function compareWithPeer(
  { report, say, quick }: BenchContext,
  unit: string,
  parley: Contender,
  peer: Contender,
): Promise<void> {
  const seconds = quick ? 3 : 8
  for (const one of [peer, parley]) await one.full(seconds / 2)
  const done = await byTurns({ parley: () => parley.full(seconds), peer: () => peer.full(seconds) })
  const reasons = [reasonFor(parley, done.parley), reasonFor(peer, done.peer)]
  for (const reason of reasons) say(reason)
  const limitedBy = reasons.join('; ')
  const [rate, peerRate] = [rateOf(done.parley), rateOf(done.peer)]
  const rates = { baseline: peer.name, baselineValue: peerRate }
  report(ratioFigure(`throughput, compared with ${peer.name}`, rate, unit, rates, { atLeast: 1, limitedBy }))
  const [half, peerHalf] = [parley.half, peer.half]
  if (half === undefined || peerHalf === undefined) return
  const perSecond = Math.min(rate, peerRate) / 2
  const p99s = await byTurns({ parley: () => half(perSecond, seconds), peer: () => peerHalf(perSecond, seconds) })
  const at = `p99 at ${Math.round(perSecond)}/s`
  say(`${at}: Parley ${p99s.parley.map(Math.round)}, ${peer.name} ${p99s.peer.map(Math.round)} ms`)
  const times = { baseline: peer.name, baselineValue: meanOf(p99s.peer) }
  report(ratioFigure(`${at}, compared with ${peer.name}`, meanOf(p99s.parley), 'ms', times, { atMost: 1, limitedBy }))
}

type Done = Awaited<ReturnType<Contender['full']>>

const rateOf = (some: readonly Done[]) => meanOf(some.map(({ perSecond }) => perSecond))

function reasonFor({ name }: Contender, some: readonly Done[]): string {
  const count = some.reduce((sum, one) => sum + one.count, 0)
  return `${name}: ${reasonOf(joinCosts(some.map(({ cost }) => cost)), count)}`
}

/** A Redis that writes each command to the disk before it answers; undefined where it is not installed. */
export async function startRedis({ folder }: Stage): Promise<{ port: number; pid: number; stop(): void } | undefined> {
  if (spawnSync('redis-server', ['--version']).error !== undefined) return undefined
  const port = await freePort()
  const dir = join(folder, 'redis')
  await mkdir(dir)
  const settings = { port, dir, bind: '127.0.0.1', save: '', appendonly: 'yes', appendfsync: 'always' }
  const args = Object.entries({ ...settings, 'maxmemory-policy': 'noeviction' }).flatMap(([name, value]) => [
    `--${name}`,
    String(value),
  ])
  const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const end = () => child.kill()
  process.once('exit', end)
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (text: Buffer) => text.includes('Ready to accept connections') && resolve())
    child.once('exit', () => reject(new Error('Redis ended before it was ready')))
  })
  return { port, pid: child.pid ?? 0, stop: end }
}
