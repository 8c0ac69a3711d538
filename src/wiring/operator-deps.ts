import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pino } from 'pino'
import { joinCell } from '../companies/cell-store.ts'
import { joinDatabase, openPool } from '../db/database.ts'
import { requeueEvents } from '../inbound/handling/unhandled/requeue.ts'
import { openBlobStore } from '../media/blobs/open-blob-store.ts'
import { copyMediaTo } from '../media/places/copy-files.ts'
import type { NewConsoleLink, OperatorDeps } from '../operator/operator.ts'
import { systemClock } from '../platform/clock.ts'
import type { Config } from '../platform/settings/config.ts'
import { StartError } from '../platform/start-error.ts'
import { prepareSecrets, readSecrets } from '../secrets/prepare-secrets.ts'
import { createCipher } from '../secrets/secrets.ts'
import { readMarketingTerms } from '../senders/marketing-terms.ts'
import { type ConsoleSessions, SESSION_PERMISSIONS } from '../sessions/session.ts'
import { createSignInLink } from '../sessions/sign-in-link.ts'
import { enqueueRefresh, syncTemplates } from '../templates/template-sync.ts'
import { createMailer, createProviders } from './adapters.ts'
import { createDeps, type Deps } from './deps.ts'
import { eventReader } from './events/event-reader.ts'
import { createImportVerbs } from './feature-deps.ts'

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

/** Short, since printed links stay in terminal logs. */
const LINK_SECONDS = 60 * 60

/** Builds the operator verbs for HTTP and the command line. */
export function createOperatorDeps(deps: Deps): OperatorDeps {
  return {
    ...deps,
    imports: createImportVerbs(deps),
    apiKeyPrefix: deps.config.apiKeyPrefix,
    copyMedia: (to) => copyMediaTo({ ...deps, db: deps.pool }, to),
    move: { ...deps, ...deps.config, db: deps.pool },
    createConsoleLink: deps.sessions && consoleLinks(deps, deps.sessions),
    onKeyChanged: (clientId) => {
      deps.apiKeys.drop(clientId)
      deps.sessions?.drop()
    },
    onSendersChanged: (companyId) => {
      deps.senders.drop(companyId)
      deps.senderSecrets.drop()
      deps.publish([{ topic: 'all', companyId }])
    },
    onUnchecked: (reason) => deps.log.warn({ reason }, 'sender.not_checked'),
    webhookGuide: (sender) => {
      const url = `${deps.config.baseUrl}/public/v1/webhooks/whatsapp`
      const verifyToken = deps.config.whatsappVerifyToken
      const place = { url, verifyToken, hasSecret: sender.hasWebhookSecret }
      const provider = deps.providers[sender.provider]
      const steps = provider?.webhookSteps(place) ?? `Have the events posted to ${url}.`
      return { url, verifyToken: provider?.makesHandshake === false ? undefined : (verifyToken ?? null), steps }
    },
    onEventsStored: deps.eventsStored.raise,
    events: eventReader,
    onSenderConnected: async (tx, companyId, sender) => {
      await requeueEvents({ decrypt: deps.cipher.decrypt, events: eventReader }, tx, companyId, sender)
      await enqueueRefresh(tx, companyId)
    },
    afterSenderConnected: async (companyId) => {
      deps.eventsStored.raise()
      // The number stays connected if its provider doesn't answer; the hourly sync retries.
      await readAccounts(deps, companyId).catch((error) =>
        deps.log.warn({ companyId, reason: error.message }, 'templates.not_synced'),
      )
    },
    syncTemplates: (companyId) => readAccounts(deps, companyId),
  }
}

const consoleLinks =
  ({ db, config }: Deps, { operatorId }: ConsoleSessions) =>
  async (companyId: number | null, { name, role, path = '/console/' }: NewConsoleLink): Promise<string> => {
    const creator = { companyId, clientId: operatorId, permissions: companyId === null ? [] : SESSION_PERMISSIONS }
    const { url } = await createSignInLink(db, config.baseUrl, creator, {
      name,
      role: companyId === null ? 'admin' : role,
      path,
      expiresInSeconds: LINK_SECONDS,
    })
    return url
  }

/** Syncs a company's account terms and templates from its providers. Returns the number of templates. */
export async function readAccounts(deps: Deps, companyId: number): Promise<number> {
  const [templates] = await Promise.all([syncTemplates(deps, companyId), readMarketingTerms(deps, companyId)])
  return templates
}
