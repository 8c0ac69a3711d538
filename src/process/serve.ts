import type { Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Pool } from '../db/connect.ts'
import { openPool } from '../db/database.ts'
import { checkStillKnown } from '../db/migration/migrate.ts'
import { startDatabaseClock } from '../db/server/database-clock.ts'
import { createStopping, type Stopping, type StoppingServer } from '../http/server/stopping.ts'
import type { BlobStore } from '../media/blobs/blob-store.ts'
import { openBlobStore } from '../media/blobs/open-blob-store.ts'
import { type Clock, systemClock } from '../platform/clock.ts'
import type { Config } from '../platform/settings/config.ts'
import { codeOf, StartError } from '../platform/start-error.ts'
import { type Cipher, createCipher } from '../secrets/secrets.ts'
import type { Component, Components, Log } from './components.ts'
import type { Shared } from './prepare.ts'

export type AppDependencies = {
  config: Config
  db: Pool
  workerDb: Pool
  clock: Clock
  cipher: Cipher
  log: Logger
  blobStore: BlobStore
  /** Undefined when the sandbox is off. */
  sandboxUrl: string | undefined
  stopping: Stopping
  /** Reads the metrics of all processes that share the port. Absent in a single process. */
  readMetrics?: (() => Promise<string>) | undefined
}

/** Starts background work, unless the role is `api`, and builds the HTTP side. */
export type Build = (
  dependencies: AppDependencies,
  components: Pick<Components, 'add'>,
) => Promise<{ app: App; registry?: Registry }>

/** The part of a Fastify instance needed to run it. */
export type App = {
  listen(where: { port: number; host: string }): Promise<string>
  close(): PromiseLike<unknown>
  server: Server
}

/** Shutdown hooks of a process that shares its listener with others. */
export type ListenerShare = {
  disconnected(): Promise<void>
  drained(): void
}

/** Grace period for requests in flight on shutdown. */
export const DRAIN_DEADLINE_MS = 10_000

/** Lease renewals must not queue behind requests. */
const WORKER_CONNECTIONS = 4
/** A database silent for this long counts as lost, even with open sockets (decisions, section 19). */
const ANSWER_TIMEOUT_MS = 5_000
/** A frozen worker can block others for at most 20 s. */
const SESSION_LIMITS = { statementMs: 12_000, lockMs: 5_000, idleInTransactionMs: 8_000 }
const IDLE_CHECK_MS = 50

/** Starts HTTP and background work. Resolves once requests are answered. */
export async function serve(
  config: Config,
  shared: Shared,
  {
    log,
    build,
    components,
    readMetrics,
    listenerShare,
  }: {
    log: Logger
    build: Build
    components: Components
    readMetrics?: () => Promise<string>
    listenerShare?: ListenerShare
  },
): Promise<{ address: string; registry: Registry | undefined }> {
  const { databaseUrl, adminToken, encryptionKeys, optOutKey, smtpUrl, sandboxUrl } = shared
  const stopping = createStopping()
  const seen = await components.add('schema', () => openPool(databaseUrl, { max: 1 }))
  await checkStillKnown(seen.db, config.allowsNewerSchema)
  const pool = { answerTimeoutMs: ANSWER_TIMEOUT_MS, limits: SESSION_LIMITS, optOutKey }
  const { db } = await components.add('pool', () => openPool(databaseUrl, pool))
  const { db: workerDb } = await components.add('worker pool', () =>
    openPool(databaseUrl, { ...pool, max: WORKER_CONNECTIONS, pinPlans: true }),
  )
  const clock = await components.add('clock', () => startDatabaseClock(workerDb, systemClock))
  await seen.stop()
  const { blobStore } = await components.add('blob store', () => openBlobStore(config))
  const dependencies = {
    config: { ...config, adminToken, encryptionKeys, smtpUrl },
    db,
    workerDb,
    clock,
    cipher: createCipher(encryptionKeys),
    log,
    blobStore,
    sandboxUrl,
    stopping,
    readMetrics,
  }
  const { app, registry } = await build(dependencies, components)
  const { address } = await components.add('http', () => listen(app, config, { log, stopping, listenerShare }))
  return { address, registry }
}

async function listen(
  app: App,
  { port, host, stopDelayMs }: Config,
  { log, stopping, listenerShare }: { log: Log; stopping: StoppingServer; listenerShare: ListenerShare | undefined },
): Promise<Component & { address: string }> {
  try {
    const address = await app.listen({ port, host })
    const stop = async () => {
      stopping.begin()
      await sleep(stopDelayMs)
      await listenerShare?.disconnected()
      await stopping.closeListener(app.server)
      await drain(app, log)
      listenerShare?.drained()
    }
    return { address, stop }
  } catch (error) {
    await app.close()
    throw explain(error, port, host)
  }
}

/** Closes idle connections, waits for requests in flight, and aborts those left at the deadline. */
async function drain(app: App, log: Log): Promise<void> {
  const late = setTimeout(() => {
    log.warn({ deadlineMs: DRAIN_DEADLINE_MS }, 'http.drain.cut')
    app.server.closeAllConnections()
  }, DRAIN_DEADLINE_MS)
  // Clients keep connections alive that were busy when closing began.
  const idle = setInterval(() => app.server.closeIdleConnections(), IDLE_CHECK_MS)
  try {
    await app.close()
  } finally {
    clearTimeout(late)
    clearInterval(idle)
  }
}

function explain(error: unknown, port: number, host: string): unknown {
  switch (codeOf(error)) {
    case 'EADDRINUSE':
      return new StartError(`Port ${port} is in use: stop what listens there or set PORT`, error)
    case 'EACCES':
      return new StartError(`This user may not listen on port ${port}: set PORT to 1024 or above`, error)
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new StartError(`${host} is not an address of this machine: correct HOST`, error)
    default:
      return error
  }
}
