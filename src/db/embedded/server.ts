import type { ChildProcess } from 'node:child_process'
import { closeSync, copyFileSync, openSync, readFileSync, statSync, truncateSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ConstantBackoff, handleWhen, retry } from 'cockatiel'
import { diskFull, giveToFolderOwner } from '../../platform/files/writable-folder.ts'
import { codeOf, messageOf, StartError } from '../../platform/start-error.ts'
import { connect } from '../connect.ts'
import type { Account } from './account.ts'
import { type DataFolder, freeBytes, START_BYTES } from './folder.ts'
import { spawnKept } from './keeper.ts'
import { unusableBinary } from './package.ts'
import { readPostmasterPid, signal } from './postmaster.ts'

export type Server = {
  stop(): Promise<void>
  /** Resolves only if the server ends unasked. */
  ended: Promise<StartError>
}

/** A server process crashed and took the server down; the next start recovers. */
export class ServerCrashed extends StartError {}

/** Crash recovery replays up to max_wal_size, for minutes on a slow disk. */
const READY_DEADLINE_MS = 5 * 60_000
const STOP_DEADLINE_MS = 30_000
const LOG_BYTES = 4 * 1024 * 1024
const LOG_CHECK_MS = 60_000
const STATUS_LINE = 7
const NOT_YET = new Set([
  'ENOENT',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  '57P03',
  'CONNECTION_CLOSED',
  'CONNECT_TIMEOUT',
])

export async function startServer(
  folder: DataFolder,
  account: Account,
  postgres: string,
  settings: Record<string, string>,
  url: string,
): Promise<Server> {
  const deadline = performance.now() + READY_DEADLINE_MS
  // Children of a killed server need a moment to notice.
  const isBusy = (error: unknown) =>
    messageOf(error).includes('pre-existing shared memory block') && performance.now() < deadline
  const starting = retry(handleWhen(isBusy), {
    maxAttempts: Number.POSITIVE_INFINITY,
    backoff: new ConstantBackoff(200),
  })
  return starting.execute(async () => {
    const server = run(folder, account, postgres, settings)
    const failure = await untilReady(server, folder.cluster, url, deadline)
    if (failure === undefined) return server
    await server.stop()
    throw failure
  })
}

type Run = Server & { failure(): StartError | undefined }

function run(folder: DataFolder, account: Account, postgres: string, settings: Record<string, string>): Run {
  boundLog(folder.log)
  const log = openSync(folder.log, 'a', 0o600)
  giveToFolderOwner(folder.log)
  const logStart = statSync(folder.log).size
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const keeper = spawnKept(account, postgres, ['-D', folder.cluster, ...options], [log, log])
  closeSync(log)
  const timer = setInterval(() => boundLog(folder.log), LOG_CHECK_MS).unref()

  let failure: StartError | undefined
  let stopping = false
  const exited = new Promise<void>((done) => {
    keeper.once('error', (error) => {
      failure = new StartError(`PostgreSQL could not be started: ${error.message}`, error)
      done()
    })
    keeper.once('exit', (code) => {
      failure = failureOf(folder, code, logStart)
      done()
    })
  }).finally(() => clearInterval(timer))
  const ended = new Promise<StartError>((done) => {
    exited.then(() => !stopping && failure && done(failure))
  })
  const stop = async () => {
    stopping = true
    await stopKept(keeper, exited, folder.cluster)
  }
  return { stop, ended, failure: () => failure }
}

/** Fast shutdown; if that hangs, immediate shutdown: loses nothing, but slows the next start. */
async function stopKept(keeper: ChildProcess, exited: Promise<void>, cluster: string): Promise<void> {
  keeper.stdin?.destroy()
  const slow = setTimeout(async () => {
    const pid = await readPostmasterPid(cluster)
    if (pid !== undefined) signal(pid, 'SIGQUIT')
  }, STOP_DEADLINE_MS)
  await exited.finally(() => clearTimeout(slow))
}

async function untilReady(
  server: Run,
  cluster: string,
  url: string,
  deadline: number,
): Promise<StartError | undefined> {
  while (performance.now() < deadline) {
    const failure = server.failure()
    if (failure) return failure
    if (await saysReady(cluster)) {
      const error = await openDatabase(url).catch((error: unknown) => error)
      if (error === undefined) return undefined
      if (error instanceof StartError) return error
      // Not ready yet: the file was an earlier server's.
      if (!NOT_YET.has(codeOf(error) ?? '')) return new StartError(`PostgreSQL refuses us: ${messageOf(error)}`, error)
    }
    await sleep(10)
  }
  return new StartError(`PostgreSQL did not become ready within ${READY_DEADLINE_MS / 60_000} minutes`)
}

/** Read from the pid file, since early connections would fail and be logged. */
async function saysReady(cluster: string): Promise<boolean> {
  const text = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '')
  return text.split('\n')[STATUS_LINE]?.trim() === 'ready'
}

async function openDatabase(url: string): Promise<void> {
  const db = connect(url.replace('/parley?', '/postgres?'), { max: 1 })
  try {
    const found = await db`select from pg_database where datname = 'parley'`
    if (found.length === 0) await db`create database parley`
  } finally {
    await db.end()
  }
}

function failureOf(folder: DataFolder, code: number | null, logStart: number): StartError {
  const output = readLog(folder.log, logStart)
  // On a full disk, the log may lack the line that reports this.
  const full = /No space left on device|Disk quota exceeded/.test(output) || freeBytes(folder) < START_BYTES
  if (full) return diskFull(folder.path, output)
  if (code === 126 || code === 127) return unusableBinary(output)
  const lines = output.split('\n').slice(-6).join('\n')
  const Failure = output.includes('"restart_after_crash" is off') ? ServerCrashed : StartError
  return new Failure(`PostgreSQL ended (code ${code}). The last lines of ${folder.log}:\n${lines || '(none)'}`)
}

function readLog(path: string, start: number): string {
  try {
    const bytes = readFileSync(path)
    return bytes
      .subarray(bytes.length < start ? 0 : start)
      .toString('utf8')
      .trim()
  } catch {
    return ''
  }
}

/** The server continues at the end of the truncated file. */
function boundLog(path: string): void {
  try {
    if (statSync(path).size <= LOG_BYTES) return
    copyFileSync(path, `${path}.1`)
    truncateSync(path)
  } catch {
    // No log yet, or no room for the copy: the next check tries again.
  }
}
