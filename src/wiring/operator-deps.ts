import { requeueEvents } from '../inbound/handling/unhandled/requeue.ts'
import { copyMediaTo } from '../media/places/copy-files.ts'
import type { NewConsoleLink, OperatorDeps } from '../operator/operator.ts'
import { type ConsoleSessions, SESSION_PERMISSIONS } from '../sessions/session.ts'
import { createSignInLink } from '../sessions/sign-in-link.ts'
import { enqueueRefresh } from '../templates/template-sync.ts'
import { createImportVerbs } from './contact-deps.ts'
import type { Deps } from './deps.ts'
import { eventReader } from './events/event-reader.ts'
import { readAccounts } from './read-accounts.ts'

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
      deps.sessions?.clear()
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
