import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pino } from 'pino'
import { joinCell } from '../companies/cell-store.ts'
import { joinDatabase, openPool } from '../db/database.ts'
import { openBlobStore } from '../media/blobs/open-blob-store.ts'
import type { OperatorDeps } from '../operator/operator.ts'
import { systemClock } from '../platform/clock.ts'
import type { Config } from '../platform/settings/config.ts'
import { StartError } from '../platform/start-error.ts'
import { prepareSecrets, readSecrets } from '../secrets/prepare-secrets.ts'
import { createCipher } from '../secrets/secrets.ts'
import { createMailer, createProviders } from './adapters.ts'
import { createDeps } from './deps.ts'
import { createOperatorDeps } from './operator-deps.ts'

type ClosableOperator = OperatorDeps & { close(): Promise<void> }

/**
 * Opens the operator verbs on the configured database, or else on the embedded one, which is started if no service runs.
 *
 * @throws StartError when there is neither
 */
export async function openOperator(config: Config): Promise<ClosableOperator> {
  checkPlace(config)
  const database = await joinDatabase(config)
  const { adminToken, encryptionKeys } = await readSecrets(config)
  const cipher = createCipher(encryptionKeys)
  const optOutKey = await prepareSecrets(database.url, cipher)
  const { db, stop } = openPool(database.url, { optOutKey })
  await joinCell(db, config.cell)
  const { blobStore, stop: closeBlobStore } = await openBlobStore(config)
  const deps = createDeps({
    config: { ...config, adminToken, encryptionKeys },
    db,
    workerDb: db,
    log: pino({ level: 'silent' }),
    clock: systemClock,
    cipher,
    providers: createProviders(config),
    mailer: createMailer(config),
    blobStore,
  })
  await deps.subscribedEvents.refresh()
  return {
    ...createOperatorDeps(deps),
    close: async () => {
      await closeBlobStore()
      await stop()
      await database.stop()
    },
  }
}

/** Without the service's settings, a command would create an empty database of its own. */
function checkPlace({ databaseUrl, dataDir }: Config): void {
  if (databaseUrl !== undefined || existsSync(join(dataDir, 'postgres'))) return
  throw new StartError(
    `There is no database in ${resolve(dataDir)}: give the command the settings of the service (DATABASE_URL, or DATA_DIR), or run it where the service was started`,
  )
}
