import { randomBytes } from 'node:crypto'
import type { Server } from 'node:http'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type Clock, systemClock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Pool } from '../db/connect.ts'
import { openDatabase, openPool } from '../db/database.ts'
import { startDatabaseClock } from '../db/database-clock.ts'
import { isDatabaseDown } from '../db/failure.ts'
import { checkSchema, migrate } from '../db/migrate.ts'
import { createStopping, type Stopping, type StoppingServer } from '../http/stopping.ts'
import type { BlobStore } from '../media/blob-store.ts'
import { checkSecrets } from '../secrets/check-secrets.ts'
import { ensureServiceSecret } from '../secrets/secret-store.ts'
import { type Cipher, createCipher, ensureDataSecret } from '../secrets/secrets.ts'
import { codeOf, messageOf, StartError } from '../start-error.ts'
import { makeDeliveryDays } from '../webhooks/delivery-day-store.ts'
import { openBlobStore } from '../wiring/open-blob-store.ts'
import { startSandboxProcess } from '../wiring/sandbox-process.ts'
import { type Component, createComponents, type Log } from './components.ts'

/** The dependencies of the app. */
export type AppDependencies = {
  config: Config
  db: Pool
  workerDb: Pool
  /** Tells the database's time. */
  clock: Clock
  cipher: Cipher
  log: Logger
  blobStore: BlobStore
  /** Undefined when the sandbox is off. */
  sandboxUrl: string | undefined
  stopping: Stopping
}

/** Builds what answers requests and, unless this process is to answer only, what goes on without them. */
export type Build = (dependencies: AppDependencies) => Promise<{ app: App; work?: (() => Component) | undefined }>

/** The part of an app that is needed to run it. A Fastify instance has it. */
export type App = {
  listen(where: { port: number; host: string }): Promise<string>
  close(): PromiseLike<unknown>
  server: Server
}

export type Running = {
  /** Where it answers, such as http://127.0.0.1:3000. */
  address: string
  /** Where the admin token is kept; undefined when it was set. */
  adminTokenFile: string | undefined
  /** Where the sandbox is controlled; undefined when it is off. */
  sandboxUrl: string | undefined
  /** Stops all components in order: no new requests, those in flight finished, the pool closed, the database stopped. */
  stop(): Promise<void>
  /** Resolves when a part ends that should not have. */
  failed: Promise<Error>
}

/** How long requests in flight may take to finish when the process is asked to stop. */
export const DRAIN_DEADLINE_MS = 10_000

/** Jobs keep their leases on connections of their own: renewing must not queue behind requests. */
const WORKER_CONNECTIONS = 4
/** A database that is silent for so long is gone, though no socket may say so (decisions, section 19). */
const ANSWER_TIMEOUT_MS = 5_000
/** A worker that freezes keeps nothing from the others for longer than 20 s, whatever its session was doing. */
const SESSION_LIMITS = { statementMs: 12_000, lockMs: 5_000, idleInTransactionMs: 8_000 }
const IDLE_CHECK_MS = 50
const WARNING_PRIVATE =
  'WEBHOOK_ALLOW_PRIVATE is on: deliveries may go to private addresses and over plain http. Only for local work'

/**
 * Starts everything that the settings ask for and resolves when requests are answered. If a component cannot be
 * started, those started before it are stopped.
 *
 * @throws StartError when the environment do not allow it: the message says what to do.
 */
export async function start(config: Config, log: Logger, build: Build): Promise<Running> {
  const components = createComponents(log)
  const stopping = createStopping()
  try {
    const database = await components.add('database', () => openDatabase(config))
    await prepareSchema(database.url, config, log)
    const { adminToken, adminTokenFile, encryptionKeys } = await readSecrets(config)
    const cipher = createCipher(encryptionKeys)
    const optOutKey = await prepareSecrets(database.url, cipher)
    const pool = { answerTimeoutMs: ANSWER_TIMEOUT_MS, limits: SESSION_LIMITS, optOutKey }
    const { db } = await components.add('pool', () => openPool(database.url, pool))
    const { db: workerDb } = await components.add('worker pool', () =>
      openPool(database.url, { ...pool, max: WORKER_CONNECTIONS, pinPlans: true }),
    )
    const clock = await components.add('clock', () => startDatabaseClock(workerDb, systemClock))
    if (config.webhookAllowPrivate) log.warn({}, WARNING_PRIVATE)
    const sandbox = config.sandbox
      ? await components.add('sandbox', () => startSandboxProcess(config.sandboxPort))
      : undefined
    // Without a mail server of its own, a service with a sandbox sends there.
    const smtpUrl = config.smtpUrl ?? sandbox?.smtpUrl
    const { blobStore } = await components.add('blob store', () => openBlobStore(config))
    const { app, work } = await build({
      config: { ...config, adminToken, encryptionKeys, smtpUrl },
      db,
      workerDb,
      clock,
      cipher,
      log,
      blobStore,
      sandboxUrl: sandbox?.url,
      stopping,
    })
    if (work) await components.add('workers', work)
    const { address } = await components.add('http', () => listen(app, config, log, stopping))
    await sandbox?.postTo(`${address}/public/v1/webhooks/whatsapp`)
    return { address, adminTokenFile, sandboxUrl: sandbox?.url, stop: components.stop, failed: database.ended }
  } catch (error) {
    await components.stop()
    throw isDatabaseDown(error) ? wentAway(error) : error
  }
}

/** On a connection of its own, since a migration may take as long as it needs. */
async function prepareSchema(url: string, { migrate: mayMigrate }: Config, log: Log): Promise<void> {
  const { db, stop } = openPool(url, { max: 1 })
  const warn = (message: string) => log.warn({}, message)
  try {
    await (mayMigrate ? migrate(db, undefined, warn) : checkSchema(db, undefined, warn))
    await makeDeliveryDays(db)
  } finally {
    await stop()
  }
}

/**
 * Checks that the stored secrets can be read. Returns the key of the hashes of opt-outs, which is a setting of sessions.
 *
 * @throws StartError when a key is missing
 */
export async function prepareSecrets(url: string, cipher: Cipher): Promise<string> {
  const { db, stop } = openPool(url, { max: 1 })
  try {
    await checkSecrets(db, cipher)
    return await ensureServiceSecret(db, cipher, 'opt-out key')
  } finally {
    await stop()
  }
}

const wentAway = (error: unknown): StartError =>
  new StartError(
    `The database went away while Parley was starting (${messageOf(error)}): start Parley again once it answers`,
    error,
  )

/** The operator's secrets: as set, or on the embedded default made once and kept with the data. */
export async function readSecrets(config: Pick<Config, 'dataDir' | 'databaseUrl' | 'adminToken' | 'encryptionKeys'>) {
  const kept = (name: string, make: () => string) => ensureDataSecret(config.dataDir, name, make)
  const adminToken = config.adminToken ?? (await kept('admin-token', () => randomBytes(32).toString('hex')))
  const encryptionKeys =
    config.encryptionKeys.length > 0
      ? config.encryptionKeys
      : [await kept('encryption-key', () => randomBytes(32).toString('base64'))]
  const adminTokenFile = config.adminToken === undefined ? resolve(join(config.dataDir, 'admin-token')) : undefined
  return { adminToken, adminTokenFile, encryptionKeys }
}

async function listen(
  app: App,
  { port, host, stopDelayMs }: Config,
  log: Log,
  stopping: StoppingServer,
): Promise<Component & { address: string }> {
  try {
    const address = await app.listen({ port, host })
    const stop = async () => {
      stopping.begin()
      await sleep(stopDelayMs)
      await stopping.closeListener(app.server)
      await drain(app, log)
    }
    return { address, stop }
  } catch (error) {
    await app.close()
    throw explain(error, port, host)
  }
}

/**
 * Closes idle connections: after the delay these are the ones that were not used in it, since each answer closed its own.
 * Lets requests in flight finish; those that are still there at the deadline are cut off.
 */
async function drain(app: App, log: Log): Promise<void> {
  const late = setTimeout(() => {
    log.warn({ deadlineMs: DRAIN_DEADLINE_MS }, 'http.drain.cut')
    app.server.closeAllConnections()
  }, DRAIN_DEADLINE_MS)
  // A connection that was busy when closing began is kept alive by its client afterwards.
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
