import { chmod } from 'node:fs/promises'
import type { StartError } from '../../platform/start-error.ts'
import { chooseAccount } from './account.ts'
import { createCluster, findCluster } from './cluster.ts'
import {
  closeSocketFolder,
  type DataFolder,
  FolderInUse,
  freeBytes,
  lockDataFolder,
  openDataFolder,
  openSocketFolder,
  START_BYTES,
  socketFolder,
  socketLock,
} from './folder.ts'
import { keepRunning, type ServerEvents } from './keep-running.ts'
import { findBinaries } from './package.ts'
import { stopOrphan } from './postmaster.ts'
import { type Server, startServer } from './server.ts'

export type EmbeddedServer = {
  /** Address of the database `parley` on this server. */
  url: string
  /** Fast shutdown: open transactions are rolled back. Resolves when none of its processes is left. */
  stop(): Promise<void>
  /** Resolves only if the server ends without having been asked to. */
  ended: Promise<StartError>
}

export type StartEvents = ServerEvents & {
  /** Gets the title of each step that may take seconds. */
  onStep?(title: string): void
}

/**
 * Starts the PostgreSQL of the packages on the data in `dataDir`, and creates the cluster if there is none. The server
 * never outlives this process, however the process ends. If a killed process left a server, waits for its end and takes
 * the folder. One process at a time may hold the folder. `settings` are PostgreSQL's own and win over ours. `program` runs in place
 * of the package's `postgres`, such as a script that preloads a library into it. A server that
 * ends on a full disk is started again when there is room, and one of which a process crashes after a second.
 *
 * @throws StartError when the environment does not allow it: the message says what to do.
 */
export async function startEmbedded(
  dataDir: string,
  settings: Record<string, string> = {},
  events: StartEvents = {},
  program?: string,
): Promise<EmbeddedServer> {
  const folder = await openDataFolder(dataDir)
  const unlock = lockDataFolder(folder)
  const start = async (onStep?: StartEvents['onStep']) => {
    await stopOrphan(folder.cluster, socketLock(folder))
    return startLocked(folder, { settings, program }, onStep)
  }
  try {
    const hasRoom = () => freeBytes(folder) >= START_BYTES
    const server = keepRunning(await start(events.onStep), { hasRoom, start }, events)
    const stop = async () => {
      await server.stop()
      await closeSocketFolder(folder)
      unlock()
    }
    return { url: addressOf(folder, settings.port), ended: server.ended, stop }
  } catch (error) {
    unlock()
    throw error
  }
}

async function startLocked(
  folder: DataFolder,
  { settings, program }: { settings: Record<string, string>; program: string | undefined },
  onStep: (title: string) => void = () => {},
): Promise<Server> {
  const binaries = await findBinaries()
  const found = await findCluster(folder)
  const account = await chooseAccount(binaries, folder)
  if (!found) {
    onStep('Creating the database')
    await createCluster(folder, account, binaries.initdb, settings.fsync !== 'off')
  }
  onStep('Starting the database')
  // PostgreSQL requires it, and copies and backups lose it.
  await chmod(folder.cluster, 0o700)
  const socket = await openSocketFolder(folder, account)
  const all = { ...serverSettings(socket), ...settings }
  return startServer(folder, account, program ?? binaries.postgres, all, addressOf(folder, settings.port))
}

/**
 * The server on `dataDir` for a short errand: the one that a running process holds, which `stop` then leaves alone,
 * else one started for it.
 */
export async function joinEmbedded(dataDir: string): Promise<EmbeddedServer> {
  try {
    return await startEmbedded(dataDir)
  } catch (error) {
    if (!(error instanceof FolderInUse)) throw error
    const folder = await openDataFolder(dataDir)
    return { url: addressOf(folder), ended: new Promise(() => {}), stop: async () => {} }
  }
}

function addressOf(folder: DataFolder, port = '5432'): string {
  return `postgres://parley@localhost:${port}/parley?host=${encodeURIComponent(socketFolder(folder))}`
}

/** For a machine with two cores that runs more than the database. The settings that protect the data stay on. */
function serverSettings(socket: string): Record<string, string> {
  return {
    listen_addresses: '',
    port: '5432',
    unix_socket_directories: `"${socket.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    max_connections: '100',
    shared_buffers: '128MB',
    // A crash ends the server, and it is started again (keep-running.ts).
    restart_after_crash: 'off',
    wal_compression: 'on',
    checkpoint_timeout: '15min',
    // Plans made while a table was empty read all of it: until statistics come, by default after up to a minute.
    autovacuum_naptime: '5s',
    // Gathered again after each growth by a tenth, as by default, they take half a second of every five while a
    // database is new.
    autovacuum_analyze_scale_factor: '0.5',
    random_page_cost: '1.1',
    // Parallel queries would take both cores from all other statements.
    max_parallel_workers_per_gather: '0',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_checkpoints: 'off',
    // Faults of statements go to the caller; here they would put contents of messages into a file.
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
  }
}
