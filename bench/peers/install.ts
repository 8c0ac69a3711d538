/** The packages of bench/peers, and a Redis for the peer that uses one. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../test/free-port.ts'
import type { Program } from '../process.ts'
import type { Stage } from '../stage.ts'

const FOLDER = fileURLToPath(new URL('.', import.meta.url))

type Saying = { say: (text: string) => void }

/** Starts a peer on the stage's database, with which it ends; undefined where its packages cannot be installed. */
export const startPeer = async (
  context: Saying,
  stage: Stage,
  name: string,
  ...args: string[]
): Promise<Program | undefined> =>
  peersAreInstalled(context) ? stage.start(`bench/peers/${name}.ts`, [stage.databaseUrl, ...args]) : undefined

/** Whether the packages of the peers are there; installs them when they are not, or are of an older lock file. */
export function peersAreInstalled({ say }: Saying): boolean {
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
