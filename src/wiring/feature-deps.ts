import type { Publish } from '../changes/live-change.ts'
import { getImport, receiveImport } from '../contacts/import/contact-import.ts'
import { type ImportJobDeps, importKind } from '../contacts/import/contact-import-run.ts'
import { unsubscribe } from '../contacts/write/unsubscribe.ts'
import { onBehalfOf } from '../db/pool/fair-pool.ts'
import { createEmailAcceptance } from '../emails/accept-emails.ts'
import { type DeliveryDeps, emailLane } from '../emails/delivery/email-delivery.ts'
import type { EmailDeps } from '../emails/email.ts'
import { EMAIL_SEND } from '../emails/email-store.ts'
import type { BounceServer } from '../emails/reports/bounce-server.ts'
import { isReportToken } from '../emails/reports/mail-report.ts'
import { recordReport, suppressRefused } from '../emails/reports/record-report.ts'
import type { ReportRoutesDeps } from '../emails/reports/report-routes.ts'
import { findSuppression } from '../emails/suppression/suppression.ts'
import type { TrackingDeps } from '../emails/tracking/tracking-routes.ts'
import { withTimeout } from '../http/server/answers/answers.ts'
import { recordAnswers } from '../inbound/handling/batch/record-inbound.ts'
import type { MailReport } from '../mailers/mailer.ts'
import { type CopyDeps, recordMedia } from '../media/copy/copy-media.ts'
import type { MediaRoutesDeps } from '../media/media-routes.ts'
import { createMediaSigner, type MediaSigner } from '../media/signed-address.ts'
import { createProvideUpload } from '../media/uploads/provide-upload.ts'
import { findMediaSecret } from '../moves/move-store.ts'
import type { ImportVerbs } from '../operator/operator.ts'
import { hasRefusedEmail } from '../people/consent/shown-consent.ts'
import { rekeyMailboxes } from '../people/matching/mailbox.ts'
import type { EraseDeps } from '../personal-data/erase-contact.ts'
import { messageOf, StartError } from '../platform/start-error.ts'
import { emailKey } from '../platform/text/email-address.ts'
import { hastenJobs } from '../queue/job-store.ts'
import { createWorker } from '../queue/worker.ts'
import { resolveSender, type Sender } from '../senders/sender.ts'
import { createSendBatches, type PreparedSend, type SendConsequences } from '../sends/batch/send-batches.ts'
import { type CompletedSend, givenUp } from '../sends/batch/send-write-store.ts'
import type { Send } from '../sends/compose-message.ts'
import { findMessageOf } from '../sends/message-store.ts'
import type { SendDeps } from '../sends/send.ts'
import { mailReportReaders } from './adapters.ts'
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

export function createEmailDeps(deps: Deps): EmailDeps & DeliveryDeps & TrackingDeps {
  const { db, config, log } = deps
  return {
    ...deps,
    baseUrl: config.baseUrl,
    smtpUrl: config.smtpUrl,
    acceptEmail: createEmailAcceptance(deps.pool, deps.emailsDue.raise),
    bounceDomain: config.bounceDomain,
    readsPostedReports: config.mailReportsSecret !== undefined,
    findMarketingRefusal: async (companyId, address) => {
      const suppression = await findSuppression(db, companyId, emailKey(address))
      if (suppression !== undefined) return suppression.reason
      await rekeyMailboxes(db, companyId, [emailKey(address)])
      return (await hasRefusedEmail(db, companyId, address)) ? 'consent' : null
    },
    suppressRefused: async (companyId, recipient, message) => {
      const id = await suppressRefused(deps, companyId, recipient, message)
      if (id !== undefined) deps.publish([{ topic: 'contact', companyId, id }])
    },
    unsubscribe: ({ companyId, ...email }) =>
      onBehalfOf({ companyId, isHeavy: false, isAwaited: () => true }, () => unsubscribe(deps, companyId, email)),
    onAttempt: ({ companyId, id }, server, outcome, durationMs) => {
      deps.mailHealth.record(server, companyId, outcome)
      deps.metrics.emails.inc({ outcome: outcome.kind === 'unavailable' ? outcome.fault : outcome.kind })
      const message = 'message' in outcome ? outcome.message : undefined
      const line = {
        companyId,
        emailId: id,
        server,
        outcome: outcome.kind,
        message,
        durationMs: Math.round(durationMs),
      }
      log.info(line, 'email.attempted')
    },
  }
}

export const createImportJobDeps = (
  deps: Pick<Deps, 'db' | 'blobStore' | 'config' | 'metrics' | 'publish' | 'recordEvents'>,
): ImportJobDeps => ({
  ...deps,
  sourceType: deps.config.serviceName.toLowerCase(),
  onProgress: (companyId, id) => deps.publish([{ topic: 'import', companyId, id }]),
  onSlice: (companyId, id, outcome) => {
    // One reset covers all contacts in the slice.
    deps.publish([
      { topic: 'import', companyId, id },
      { topic: 'all', companyId },
    ])
    if (outcome === 'completed' || outcome === 'failed') deps.metrics.imports.inc({ outcome })
  },
})

/** Builds dependencies for a command that runs imports itself, possibly beside a running service. */
export const createImportVerbs = (
  deps: Pick<Deps, 'db' | 'workerDb' | 'blobStore' | 'config' | 'log' | 'metrics' | 'publish' | 'recordEvents'>,
): ImportVerbs => ({
  take: (companyId, request, body) => receiveImport(deps, companyId, request, body, null),
  read: (companyId, id) => getImport(deps.db, companyId, id),
  work: () => createWorker({ db: deps.workerDb, log: deps.log }, [importKind(createImportJobDeps(deps))]),
})

export const createErasureDeps = (
  deps: Pick<Deps, 'db' | 'blobStore' | 'cipher' | 'log' | 'publish' | 'recordEvents'>,
): EraseDeps => ({
  ...deps,
  endEmailJobs: (companyId, emailIds) => hastenJobs(deps.db, companyId, EMAIL_SEND, emailLane(companyId), emailIds),
  onPass: (companyId) => deps.publish([{ topic: 'all', companyId }]),
  onFailure: (error) => deps.log.error({ reason: String(error) }, 'erasure.interrupted'),
})

export const createMediaDeps = (
  deps: Deps,
): CopyDeps & Pick<MediaRoutesDeps, 'movedSecret'> & { db: Deps['db']; signer: MediaSigner } => ({
  ...deps,
  findSender: async (companyId, senderId) =>
    (await deps.senders.listFor(companyId)).find((sender) => sender.id === senderId),
  movedSecret: async (companyId) => {
    const sealed = await findMediaSecret(deps.pool, companyId)
    return sealed === undefined ? undefined : Buffer.from(deps.cipher.decrypt(sealed), 'base64')
  },
  signer: createMediaSigner({ ...deps.config, clock: deps.clock }),
})

export function createReportDeps(deps: Deps): ReportRoutesDeps {
  const { db, recordEvents, log, metrics } = deps
  return {
    secret: deps.config.mailReportsSecret,
    readers: mailReportReaders,
    record: (token, report: MailReport) =>
      recordReport(
        {
          db,
          recordEvents,
          onReport: ({ companyId, emailId, kind, contactId }) => {
            metrics.mailReports.inc({ kind })
            log.info({ companyId, emailId, kind, message: report.message }, 'email.reported')
            if (contactId !== undefined) deps.publish([{ topic: 'contact', companyId, id: contactId }])
          },
        },
        token,
        report,
      ),
    onIgnored: () => metrics.mailReports.inc({ kind: 'ignored' }),
  }
}

export type ListeningServer = { listen(): Promise<void>; close: BounceServer['close'] }

/** Builds the bounce mail server; undefined when not configured. */
export async function openBounceServer(deps: Deps, reports: ReportRoutesDeps): Promise<ListeningServer | undefined> {
  const { bounceDomain, bounceSmtpPort, bounceSmtpHost } = deps.config
  if (bounceDomain === undefined || bounceSmtpPort === undefined) return undefined
  // Loaded on demand: the library takes 4 MB.
  const { createBounceServer } = await import('../emails/reports/bounce-server.ts')
  const server = createBounceServer({
    ...reports,
    domain: bounceDomain,
    isReportToken: (token) => isReportToken(deps.pool, token),
    onFailure: (error) => deps.log.error({ reason: messageOf(error) }, 'email.report_failed'),
  })
  return {
    listen: async () => {
      const port = await server.listen(bounceSmtpPort, bounceSmtpHost).catch((error) => {
        throw new StartError(`BOUNCE_SMTP_PORT: ${messageOf(error)}`)
      })
      deps.log.info({ host: bounceSmtpHost, port }, 'bounces.listening')
    },
    close: server.close,
  }
}
