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
  url: string
  /** Fast shutdown: rolls back open transactions. Resolves when every process is gone. */
  stop(): Promise<void>
  ended: Promise<StartError>
}

export type StartEvents = ServerEvents & {
  onStep?(title: string): void
}

/**
 * Starts the packaged PostgreSQL on `dataDir`, creating the cluster if necessary. The server never outlives this
 * process. Takes over a killed process's folder once its server has ended. `settings` override ours; `program` replaces
 * the package's `postgres`. Restarts after a crash or full disk.
 * @throws StartError with the remedy when the environment does not allow a start
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
  // Required by PostgreSQL, and lost by copies and backups.
  await chmod(folder.cluster, 0o700)
  const socket = await openSocketFolder(folder, account)
  const all = { ...serverSettings(socket), ...settings }
  return startServer(folder, account, program ?? binaries.postgres, all, addressOf(folder, settings.port))
}

/** Joins the server of a running process, which `stop` leaves alone, else starts one for a short command. */
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

/** For a two-core machine shared with other programs. Settings that protect the data stay on. */
function serverSettings(socket: string): Record<string, string> {
  return {
    listen_addresses: '',
    port: '5432',
    unix_socket_directories: `"${socket.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    max_connections: '100',
    shared_buffers: '128MB',
    restart_after_crash: 'off',
    wal_compression: 'on',
    checkpoint_timeout: '15min',
    // Until the next statistics, plans made while a table was empty scan all of it.
    autovacuum_naptime: '5s',
    // At the default 0.1, analyzing takes half a second of every five while a database is new.
    autovacuum_analyze_scale_factor: '0.5',
    random_page_cost: '1.1',
    // Parallel queries would take both cores.
    max_parallel_workers_per_gather: '0',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_checkpoints: 'off',
    // Statement errors are returned to the caller; logging them would write message contents to a file.
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
  }
}
