import type { Publish } from '../changes/live-change.ts'
import { withTimeout } from '../http/errors/database-timeout.ts'
import { recordAnswers } from '../inbound/handling/batch/record-inbound.ts'
import { recordMedia } from '../media/copy/copy-media.ts'
import { createProvideUpload } from '../media/uploads/provide-upload.ts'
import { resolveSender, type Sender } from '../senders/sender.ts'
import { createSendBatches, type PreparedSend, type SendConsequences } from '../sends/batch/send-batches.ts'
import { type CompletedSend, givenUp } from '../sends/batch/send-write-store.ts'
import type { Send } from '../sends/compose-message.ts'
import { findMessageOf } from '../sends/message-store.ts'
import type { SendDeps } from '../sends/send.ts'
import type { Deps } from './deps.ts'

/** Builds the send dependencies. Each database wait has its own bound, so a silent database can't hold a caller. */
export function createSendDeps(deps: Deps): SendDeps & { db: Deps['db'] } {
  const { config, metrics, log, senders, templates } = deps
  const sourceType = config.serviceName.toLowerCase()
  const consequences: SendConsequences = {
    copyMedia: recordMedia,
    learnRecipients: (recipients) =>
      recordAnswers({ ...deps, db: deps.pool }, recipients, sourceType, deps.clock.now()),
    recordEvents: deps.recordEvents,
    onConsents: (contacts) => deps.publish(contacts.map((contact) => ({ topic: 'contact', ...contact }))),
  }
  const { prepareSend, completeSend } = createSendBatches(deps.pool, deps.clock, consequences)
  const prepare = async (send: Send) => {
    // Checked here: the steps before may take long, and the batch statement doesn't check companies.
    await deps.requireUnlocked(send.companyId)
    const prepared = await prepareSend(send)
    if (prepared.refusal === null) publishSent(deps.publish, send.companyId, prepared)
    return prepared
  }
  const complete = async (send: CompletedSend) => {
    await completeSend(send)
    const { companyId, messageId, reaction } = send
    const changed = reaction === null ? [messageId] : [messageId, reaction.targetId]
    deps.publish(changed.map((id) => ({ topic: 'message', companyId, id })))
  }
  const onIncomplete = (error: unknown) => log.error({ reason: String(error) }, 'send.incomplete')

  const giveUp = async (send: Send, prepared: PreparedSend) => {
    if (prepared.refusal !== null) return
    await complete(givenUp(send, prepared)).catch(onIncomplete)
  }

  return {
    ...deps,
    senders: { listFor: (companyId) => withTimeout(senders.listFor(companyId)) },
    templates: { ...templates, versionsOf: (...asked) => withTimeout(templates.versionsOf(...asked)) },
    findQuoted: (...named) => withTimeout(findMessageOf(deps.db, ...named)),
    provideUpload: createProvideUpload(deps),
    prepareSend: (send) => withTimeout(prepare(send), (late) => giveUp(send, late)),
    completeSend: (send) => withTimeout(complete(send)),
    sourceType,
    marketingWindow: config.marketingWindow,
    sessionWindow: config.sessionWindow,
    onSent: (provider, outcome, durationMs) => {
      metrics.sends.inc({ provider, outcome: outcome.kind })
      metrics.providerSeconds.observe({ provider, operation: 'send' }, durationMs / 1000)
    },
    onIncomplete,
  }
}

const publishSent = (publish: Publish, companyId: number, sent: { conversationId: number; messageId: number }): void =>
  publish([
    { topic: 'message', companyId, id: sent.messageId },
    { topic: 'conversation', companyId, id: sent.conversationId },
  ])

/** Finds the requested number, or else the preferred one. */
export const senderFinder =
  ({ senders }: Pick<Deps, 'senders'>) =>
  async (companyId: number, name: string | undefined): Promise<Sender> =>
    resolveSender(await senders.listFor(companyId), name)
