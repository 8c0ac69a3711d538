import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type Pool } from '../../../src/db/connect.ts'
import { type EmbeddedServer, startEmbedded } from '../../../src/db/embedded/start.ts'
import { codeOf } from '../../../src/platform/start-error.ts'
import { freePort } from '../../free-port.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
import { childrenOf, signal } from '../process-tree.ts'
import { until } from '../wait.ts'
import type { Database } from './database.ts'
import { fillDisk, mountDisk, removeDisk } from './disk.ts'
import { createTampering } from './tampering.ts'

type Node = { folder: string; port: number; server: EmbeddedServer }

/** How a primary is lost when its standby is promoted. */
export type Loss = 'kill' | 'freeze'

/** A PostgreSQL with a second place for a synchronous standby. Commits reach the operating system, not the disk. */
export type Postgres = Database & {
  /** Ends `count` sessions of the service. */
  terminate(count: number): Promise<void>
  restart(isKilled: boolean): Promise<void>
  /** Leaves no byte of the primary's disk for some seconds; false where this user cannot mount a disk. */
  fillDisk(): Promise<boolean>
  /** Lets the files of tables fail with EIO for some seconds; false where there is no C compiler. */
  breakFiles(): Promise<boolean>
  /** Moves its clock; false where there is no C compiler. */
  stepClock(byMs: number): Promise<boolean>
  /** Kills it, and twice more while it recovers. */
  crashInRecovery(): Promise<void>
  /** Makes a synchronous standby from a cold copy. */
  addStandby(): Promise<void>
  /** Loses the primary and promotes the standby. */
  promote(loss: Loss): Promise<void>
}

const SETTINGS = { listen_addresses: '127.0.0.1', fsync: 'off', max_connections: '200' }
/** Longer than the repeats of callers, and shorter than a lease. */
const FULL_MS = 4_000
const BROKEN_MS = 4_000
const MOST_LOGINS = 20
const ACCESS = 'local all all trust\nhost all all 127.0.0.1/32 trust\nhost replication all 127.0.0.1/32 trust\n'

export async function startPostgres(): Promise<Postgres> {
  const ports = [await freePort(), await freePort()]
  const tampering = await createTampering()
  // A day's step back leaves the month in which the service was installed.
  let aheadMs = untilNextMonth(new Date())
  tampering?.setClock(aheadMs)
  const startNode = async (folder: string, port: number, more: Record<string, string> = {}): Promise<Node> => {
    const settings = { ...SETTINGS, ...more, port: String(port) }
    return { folder, port, server: await startEmbedded(folder, settings, {}, tampering?.program) }
  }
  let primary = await startNode(makeFolder(), ports[0] ?? 0)
  let standby: Node | undefined
  writeFileSync(join(primary.folder, 'postgres', 'pg_hba.conf'), ACCESS)
  await ask(primary, (db) => db`select pg_reload_conf()`)
  const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',')

  const restart = async (isKilled: boolean) => {
    if (isKilled) signalServer(primary, 'SIGKILL')
    await primary.server.stop()
    primary = await startNode(primary.folder, primary.port)
  }
  return {
    url: `postgres://parley@${hosts}/parley?target_session_attrs=read-write`,
    ask: (query) => ask(primary, query),
    // A lost primary never comes back.
    lostWrites: async () => 0,
    terminate: async (count) => {
      await ask(
        primary,
        (db) => db`
          select pg_terminate_backend(pid)
          from (
            select pid from pg_stat_activity where application_name like 'parley %' and client_addr is not null
            order by (state <> 'idle') desc, random()
            limit ${count}
          ) as chosen
        `,
      )
    },
    restart,
    fillDisk: async () => {
      const empty = fillDisk(primary.folder)
      if (empty === undefined) return false
      await sleep(FULL_MS)
      empty()
      // A server that could not write its log has ended.
      await ask(primary, (db) => db`select`).catch(() => restart(false))
      return true
    },
    breakFiles: async () => {
      if (tampering === undefined) return false
      tampering.breakFiles(true)
      // New sessions have no file open.
      const ended = ask(
        primary,
        (db) =>
          db`select pg_terminate_backend(pid) from pg_stat_activity where client_addr is not null and pid <> pg_backend_pid()`,
      )
      await Promise.all([ended.catch(() => []), sleep(BROKEN_MS)])
      tampering.breakFiles(false)
      await ask(primary, (db) => db`select`).catch(() => restart(false))
      return true
    },
    stepClock: async (byMs) => {
      if (tampering === undefined) return false
      aheadMs += byMs
      tampering.setClock(aheadMs)
      return true
    },
    crashInRecovery: async () => {
      signalServer(primary, 'SIGKILL')
      await primary.server.stop()
      for (let crashes = 0; crashes < 2; crashes += 1) {
        const { folder, port } = primary
        rmSync(join(folder, 'postgres', 'postmaster.pid'), { force: true })
        const starting = startNode(folder, port).catch(() => undefined)
        await until('the server recovers', async () => pidOf(folder) !== undefined)
        signalServer(primary, 'SIGKILL')
        await (await starting)?.server.stop()
      }
      primary = await startNode(primary.folder, primary.port)
    },
    addStandby: async () => {
      await primary.server.stop()
      const folder = makeFolder()
      cpSync(join(primary.folder, 'postgres'), join(folder, 'postgres'), { recursive: true })
      primary = await startNode(primary.folder, primary.port)
      writeFileSync(join(folder, 'postgres', 'standby.signal'), '')
      const port = ports.find((one) => one !== primary.port) ?? 0
      standby = await startNode(folder, port, {
        primary_conninfo: `host=127.0.0.1 port=${primary.port} user=parley application_name=standby`,
      })
      await ask(primary, (db) => db`alter system set synchronous_standby_names = 'standby'`)
      await ask(primary, (db) => db`select pg_reload_conf()`)
      await until('the standby is synchronous', async () => {
        const rows = await ask(primary, (db) => db`select from pg_stat_replication where sync_state = 'sync'`)
        return rows.length > 0
      })
    },
    promote: async (loss) => {
      if (standby === undefined) throw new Error('There is no standby to promote')
      const [old, next] = [primary, standby]
      signalServer(old, loss === 'kill' ? 'SIGKILL' : 'SIGSTOP')
      await ask(next, (db) => db`select pg_promote(true, 60)`)
      ;[primary, standby] = [next, undefined]
      // A frozen one is fenced before it could go on.
      if (loss === 'freeze') await new Promise((done) => setTimeout(done, 8_000))
      signalServer(old, 'SIGKILL')
      await old.server.stop()
      removeDisk(old.folder)
    },
    stop: async () => {
      for (const node of [standby, primary]) {
        await node?.server.stop()
        if (node) removeDisk(node.folder)
      }
      tampering?.remove()
    },
  }
}

const makeFolder = (): string => mountDisk(mkdtempSync(join(temporaryFolder(), 'parley-faults-')))

/** Half an hour into the next month (UTC), in milliseconds from now. */
const untilNextMonth = (now: Date): number =>
  Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1, 0, 30) - now.getTime()

/** On a busy machine, a login takes longer than the driver waits for it: nothing has run, and it is tried again. */
async function ask<T>({ server }: Node, query: (db: Pool) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    const db = connect(server.url, { max: 1, applicationName: 'faults' })
    try {
      return await query(db)
    } catch (error) {
      if (codeOf(error) !== 'CONNECT_TIMEOUT' || tries === MOST_LOGINS) throw error
    } finally {
      await db.end({ timeout: 1 })
    }
  }
}

/** To the server with all its processes. */
function signalServer({ folder }: Pick<Node, 'folder'>, name: NodeJS.Signals): void {
  const main = pidOf(folder)
  if (main !== undefined) for (const pid of [main, ...childrenOf(main)]) signal(pid, name)
}

/** The server's process, once it has written its id. */
function pidOf(folder: string): number | undefined {
  try {
    // The file is empty for a moment.
    return Number(readFileSync(join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]) || undefined
  } catch {
    return undefined
  }
}
