import { joinCell } from '../companies/cell-store.ts'
import { makeMessageMonths } from '../conversations/message-month-store.ts'
import { type Database, openDatabase, openPool } from '../db/database.ts'
import { checkSchema, migrate } from '../db/migration/migrate.ts'
import { WITHOUT_SESSIONS } from '../db/pooler.ts'
import type { Config } from '../platform/settings/config.ts'
import { prepareSecrets, readSecrets } from '../secrets/prepare-secrets.ts'
import { createCipher } from '../secrets/secrets.ts'
import { makeDeliveryDays } from '../webhooks/deliveries/days/delivery-day-store.ts'
import type { Components, Log } from './components.ts'
import { loadSandbox, type SandboxProcess } from './sandbox-process.ts'

/** The result of the preparation that each serving process needs; it can be sent to them. */
export type Shared = {
  databaseUrl: string
  adminToken: string
  encryptionKeys: readonly string[]
  /** The key of the hashes of opt-outs, a setting of sessions. */
  optOutKey: string
  smtpUrl: string | undefined
  /** Undefined when the sandbox is off. */
  sandboxUrl: string | undefined
}

export type Prepared = {
  shared: Shared
  /** Where the admin token is kept; undefined when it was set. */
  adminTokenFile: string | undefined
  sandbox: SandboxProcess | undefined
  /** Resolves when the embedded database ends without having been asked to. */
  ended: Database['ended']
}

const WARNING_PRIVATE =
  'WEBHOOK_ALLOW_PRIVATE is on: deliveries may go to private addresses and over plain http. Only for local work'

/**
 * Prepares what an installation needs once, however many processes serve: database, schema, secrets, sandbox. `onStep` gets the
 * title of each step.
 */
export async function prepare(
  config: Config,
  log: Log,
  components: Components,
  onStep: (title: string) => void,
): Promise<Prepared> {
  const loading = config.sandbox ? await components.add('sandbox', () => loadSandbox(config)) : undefined
  onStep(config.databaseUrl === undefined ? 'Preparing the data folder' : 'Connecting to the database')
  const database = await components.add('database', () => openDatabase(config, { onStep, ...serverEvents(log) }))
  onStep('Preparing the tables')
  await prepareSchema(database.url, config, log)
  const { adminToken, adminTokenFile, encryptionKeys } = await readSecrets(config)
  const optOutKey = await prepareSecrets(database.url, createCipher(encryptionKeys))
  if (config.webhookAllowPrivate) log.warn({}, WARNING_PRIVATE)
  if (loading) onStep('Starting the sandbox')
  const sandbox = await loading?.listen()
  // Without a mail server of its own, a service with a sandbox sends there.
  const smtpUrl = config.smtpUrl ?? sandbox?.smtpUrl
  const shared = { databaseUrl: database.url, adminToken, encryptionKeys, optOutKey, smtpUrl, sandboxUrl: sandbox?.url }
  return { shared, adminTokenFile, sandbox, ended: database.ended }
}

const serverEvents = (log: Log) => ({
  onDiskFull: (error: string) => log.error({ error }, 'database.disk.full'),
  onCrash: (error: string) => log.error({ error }, 'database.crashed'),
  onRestartFailure: (error: string) => log.error({ error }, 'database.not_restarted'),
  onRestart: () => log.info({}, 'database.restarted'),
})

/** On a connection of its own, since a migration may take as long as it needs. */
async function prepareSchema(
  url: string,
  { migrate: mayMigrate, allowsNewerSchema, cell }: Config,
  log: Log,
): Promise<void> {
  const { db, stop } = openPool(url, { max: 1 })
  const warn = (message: string) => log.warn({}, message)
  if (db.options.isPooled) warn(WITHOUT_SESSIONS)
  try {
    const options = { warn, allowsNewer: allowsNewerSchema }
    await (mayMigrate ? migrate(db, options) : checkSchema(db, options))
    await makeDeliveryDays(db)
    await makeMessageMonths(db)
    await joinCell(db, cell)
  } finally {
    await stop()
  }
}
