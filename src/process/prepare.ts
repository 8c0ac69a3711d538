import { joinCell } from '../companies/cell-store.ts'
import { makeMessageMonths } from '../conversations/message-expiry-store.ts'
import { type Database, openDatabase, openPool } from '../db/database.ts'
import { checkSchema, migrate } from '../db/migration/migrate.ts'
import { WITHOUT_SESSIONS } from '../db/pooler.ts'
import type { Config } from '../platform/settings/config.ts'
import { prepareSecrets, readSecrets } from '../secrets/prepare-secrets.ts'
import { createCipher } from '../secrets/secrets.ts'
import { makeDeliveryDays } from '../webhooks/deliveries/delivery-days.ts'
import type { Components, Log } from './components.ts'
import { loadSandbox, type SandboxProcess } from './sandbox-process.ts'

export type Shared = {
  databaseUrl: string
  adminToken: string
  encryptionKeys: readonly string[]
  optOutKey: string
  smtpUrl: string | undefined
  sandboxUrl: string | undefined
}

export type Prepared = {
  shared: Shared
  adminTokenFile: string | undefined
  sandbox: SandboxProcess | undefined
  ended: Database['ended']
}

const WARNING_PRIVATE =
  'WEBHOOK_ALLOW_PRIVATE is on: deliveries may go to private addresses and over plain http. Only for local work'

/** Prepares an installation once for all its processes: database, schema, secrets, sandbox. */
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
  // With a sandbox and no mail server, mail is sent to the sandbox.
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
