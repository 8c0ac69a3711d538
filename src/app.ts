import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { meRoutes } from './companies/me-routes.ts'
import { contactRoutes } from './contacts/contact-routes.ts'
import { contactImportRoutes } from './contacts/import/contact-import-routes.ts'
import { matchContacts } from './contacts/search/contact-list.ts'
import { contactTimelineRoutes } from './contacts/timeline/timeline-routes.ts'
import { assigneeRoutes } from './conversations/assignees/assignee-routes.ts'
import { conversationRoutes } from './conversations/conversation-routes.ts'
import { quickReplyRoutes } from './conversations/quick-replies/quick-reply-routes.ts'
import { usageRoutes } from './conversations/usage/usage-routes.ts'
import { customFieldRoutes } from './custom-fields/custom-field-routes.ts'
import { emailRoutes } from './emails/email-routes.ts'
import { reportRoutes } from './emails/reports/report-routes.ts'
import { trackingRoutes } from './emails/tracking/tracking-routes.ts'
import { createRequestLimiter } from './http/admission/rate-limit.ts'
import { describeApi, serveReference } from './http/openapi/reference.ts'
import { healthRoutes } from './http/server/health-routes.ts'
import { clientAddress, requestedHost, trustedProxies } from './http/server/request-head.ts'
import { createServer } from './http/server/server.ts'
import { createAccept } from './inbound/ingest/accept.ts'
import {
  createLockedCheck,
  createRefusalCount,
  createSignatureCheck,
  createUnhandledBudget,
} from './inbound/ingest/admission.ts'
import { type InboundRoutesDeps, inboundRoutes } from './inbound/ingest/inbound-routes.ts'
import { legacyRoutes } from './legacy/legacy-routes.ts'
import { createLegacyRule } from './legacy/legacy-rule.ts'
import { streamRoutes } from './live/stream-routes.ts'
import { mediaRoutes } from './media/media-routes.ts'
import { openUpload } from './media/uploads/provide-upload.ts'
import { uploadRoutes } from './media/uploads/upload-routes.ts'
import { findDemoToken } from './operator/first-run.ts'
import { operatorRoutes } from './operator/operator-routes.ts'
import { archiveRoutes } from './personal-data/archive-routes.ts'
import { eraseContact } from './personal-data/erase-contact.ts'
import { ROOT } from './platform/program-file.ts'
import { messageOf } from './platform/start-error.ts'
import { senderRoutes } from './senders/sender-routes.ts'
import { receiptRoutes } from './sends/replies/receipt-routes.ts'
import { replyRoutes } from './sends/replies/reply-routes.ts'
import { scheduledRoutes } from './sends/scheduled/scheduled-routes.ts'
import { sendRoutes } from './sends/send-routes.ts'
import { type PageDeps, pageRoutes } from './sessions/page-routes.ts'
import type { ConsoleSessions } from './sessions/session.ts'
import { type SessionRoutesDeps, sessionRoutes } from './sessions/session-routes.ts'
import { signInLinkRoutes } from './sessions/sign-in-link-routes.ts'
import { manageRoutes } from './templates/manage/manage-routes.ts'
import type { ManageDeps } from './templates/manage/manage-templates.ts'
import { templateRoutes } from './templates/template-routes.ts'
import { deliveryRoutes } from './webhooks/deliveries/delivery-routes.ts'
import { type DeliveryLogRoutesDeps, deliveryLogRoutes } from './webhooks/deliveries/log/delivery-log-routes.ts'
import { receiverEvents } from './webhooks/events/event-reference.ts'
import { type RegistrationRoutesDeps, registrationRoutes } from './webhooks/registrations/registration-routes.ts'
import type { Deps } from './wiring/deps.ts'
import { bodyReader } from './wiring/events/body-reader.ts'
import { eventReader } from './wiring/events/event-reader.ts'
import {
  createEmailDeps,
  createErasureDeps,
  createMediaDeps,
  createReportDeps,
  createSendDeps,
  type ListeningServer,
  openBounceServer,
  senderFinder,
} from './wiring/feature-deps.ts'
import { createLiveHub } from './wiring/live-deps.ts'
import { createOperatorDeps } from './wiring/operator-deps.ts'
import type { Workers } from './wiring/workers.ts'

/** Builds the routes of a process without API: health and metrics. */
export async function buildHealthApp(deps: Deps): Promise<FastifyInstance> {
  const app = await createServer({ ...deps, limiter: await createRequestLimiter(deps) })
  readSubscribedEvents(app, deps)
  await app.register(healthRoutes(deps))
  return app
}

/** Builds all route groups, in the order of the specification. Closing closes only what it opened itself. */
export async function buildApp(deps: Deps, workers?: Pick<Workers, 'takeEvents'>): Promise<FastifyInstance> {
  const limiter = await createRequestLimiter({
    ...deps,
    onRedisError: (error) => deps.log.warn({ reason: error.message }, 'redis.failed'),
  })
  const app = await createServer({ ...deps, limiter, addressRule: createLegacyRule(deps) })
  readSubscribedEvents(app, deps)
  await describeApi(app, deps.config, receiverEvents(deps.config.serviceName))

  const media = createMediaDeps(deps)
  const webhooks = createWebhookDeps(deps)
  const send = { ...createSendDeps(deps), publish: deps.publish }
  const erasure = createErasureDeps(deps)
  const operator = createOperatorDeps(deps)
  await app.register(meRoutes(operator))
  await app.register(streamRoutes({ hub: createLiveHub(deps, media.signer.address) }))
  await app.register(sendRoutes(send))
  await app.register(uploadRoutes(deps))
  await app.register(senderRoutes(deps))
  await app.register(templateRoutes(deps))
  await app.register(manageRoutes(createManageDeps(deps)))
  await app.register(conversationRoutes({ ...deps, mediaAddress: media.signer.address, matchContacts }))
  await app.register(assigneeRoutes(deps))
  await app.register(quickReplyRoutes(deps))
  await app.register(replyRoutes(send))
  await app.register(receiptRoutes(send))
  await app.register(scheduledRoutes(send))
  await app.register(usageRoutes(deps))
  await app.register(registrationRoutes(webhooks))
  await app.register(deliveryRoutes(webhooks))
  await app.register(deliveryLogRoutes(webhooks))
  await app.register(inboundRoutes(createInboundDeps(deps, workers)))
  await app.register(mediaRoutes(media))
  await app.register(
    contactRoutes({ ...deps, limiter, erase: (companyId, id) => eraseContact(erasure, companyId, id) }),
  )
  await app.register(contactTimelineRoutes(deps))
  await app.register(archiveRoutes({ ...deps, mediaAddress: media.signer.address }))
  await app.register(contactImportRoutes(deps))
  await app.register(customFieldRoutes(deps))
  const emails = createEmailDeps(deps)
  await app.register(emailRoutes(emails))
  await app.register(trackingRoutes(emails))
  const reports = createReportDeps(deps)
  await app.register(reportRoutes(reports))
  serveWith(app, await openBounceServer(deps, reports))
  await app.register(legacyRoutes({ ...deps, send, emails, removalDate: deps.config.legacyRemovalDate }))
  await app.register(operatorRoutes(operator))
  if (deps.sessions) {
    const console = createConsoleDeps(deps, deps.sessions)
    await app.register(pageRoutes(console))
    await app.register(sessionRoutes(console))
    await app.register(signInLinkRoutes({ ...deps, operatorId: deps.sessions.operatorId }))
  }
  await app.register(healthRoutes(deps))
  serveReference(app, { findDemoToken: () => findDemoToken(deps.config), baseUrl: deps.config.baseUrl })
  return app
}

function serveWith(app: FastifyInstance, server: ListeningServer | undefined): void {
  if (server === undefined) return
  app.addHook('onReady', server.listen)
  app.addHook('onClose', server.close)
}

/** Refreshes event subscriptions changed by other processes, while serving. */
function readSubscribedEvents(app: FastifyInstance, { subscribedEvents }: Deps): void {
  let stop = () => {}
  app.addHook('onReady', async () => {
    stop = subscribedEvents.start()
  })
  app.addHook('onClose', async () => stop())
}

const PAGES_FOLDER = fileURLToPath(new URL('console/dist', ROOT))

function createConsoleDeps({ db, config, sandboxUrl }: Deps, sessions: ConsoleSessions): PageDeps & SessionRoutesDeps {
  const { sessionWindow, marketingWindow, serviceName } = config
  const isTrusted = trustedProxies(config.trustProxy)
  return {
    db,
    config,
    sessions,
    pagesFolder: PAGES_FOLDER,
    sandboxUrl,
    hostOf: (request) => requestedHost(request, isTrusted),
    features: { sandboxUrl: sandboxUrl ?? null, sessionWindow, marketingWindow, serviceName },
    addressOf: ({ raw }) => clientAddress(raw, isTrusted),
  }
}

/** Builds the provider webhook's dependencies. Without workers in this process, events are only stored. */
function createInboundDeps(deps: Deps, workers: Pick<Workers, 'takeEvents'> | undefined): InboundRoutesDeps {
  const isTrusted = trustedProxies(deps.config.trustProxy)
  return {
    verifyToken: deps.config.whatsappVerifyToken,
    accept: createAccept(deps.db, eventReader, workers?.takeEvents),
    addressOf: (request) => clientAddress(request, isTrusted),
    refusedFor: createUnhandledBudget(deps.db),
    checkSignature: createSignatureCheck(deps.senderSecrets, bodyReader),
    onRefused: createRefusalCount(deps.db, (error) =>
      deps.log.warn({ reason: messageOf(error) }, 'refusals.not_counted'),
    ),
    signatureOf: eventReader.signatureOf,
    isForLocked: createLockedCheck(deps.pool, eventReader),
  }
}

const createManageDeps = (deps: Deps): ManageDeps => ({
  ...deps,
  findSender: senderFinder(deps),
  openUpload: (companyId, mediaId) => openUpload(deps, companyId, mediaId),
})

function createWebhookDeps(deps: Deps): RegistrationRoutesDeps & DeliveryLogRoutesDeps {
  const { serviceName, webhookAllowPrivate } = deps.config
  const rules = { serviceName, allowPrivate: webhookAllowPrivate }
  const publish = (companyId: number) => deps.publish([{ topic: 'all', companyId }])
  const onChanged = async (companyId: number) => {
    publish(companyId)
    await deps.subscribedEvents.refresh()
  }
  const onEnqueued = (companyId: number) => {
    deps.deliveriesDue.raise()
    publish(companyId)
  }
  return { ...deps, serviceName, rules, onEnqueued, onChanged }
}
