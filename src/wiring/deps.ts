import type { Logger } from 'pino'
import type { Publish } from '../changes/live-change.ts'
import type { RecordEvents } from '../changes/record-change.ts'
import { createApiKeys, createRequireUnlocked } from '../companies/company-access.ts'
import type { Pool } from '../db/connect.ts'
import { type CompanySlots, createCompanySlots, type RequireUnlocked, shareFairly } from '../db/pool/fair-pool.ts'
import { registerPoolGauge } from '../db/pool/pool-metric.ts'
import { createMailHealth, type MailHealth, registerMailGauge } from '../emails/delivery/mail-health.ts'
import type { ApiKeys } from '../http/admission/authenticate.ts'
import type { Stopping } from '../http/server/stopping.ts'
import { UNHANDLED_REASONS } from '../inbound/handling/unhandled/keep-unhandled.ts'
import { createSecretCache, type SecretCache } from '../inbound/ingest/admission.ts'
import { createPublish } from '../live/notice.ts'
import { type Mailer, type MailOutcome, type MailReport, SERVER_FAULTS } from '../mailers/mailer.ts'
import type { BlobStore } from '../media/blobs/blob-store.ts'
import { createMediaSigner } from '../media/signed-address.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../platform/settings/config.ts'
import { createSignal, type Signal } from '../platform/signal.ts'
import { createMetrics, type Metrics } from '../platform/telemetry/metrics.ts'
import type { Tracing } from '../platform/telemetry/tracing.ts'
import type { Providers, SendOutcome } from '../providers/provider.ts'
import { type Breaker, createBreaker } from '../providers/provider-api.ts'
import type { Cipher } from '../secrets/secrets.ts'
import type { AccountEvent } from '../senders/account-event-store.ts'
import { createSenderCache, type SenderCache } from '../senders/sender.ts'
import { type ConsoleSessions, createSessions } from '../sessions/session.ts'
import { createTemplateCache, type TemplateCache } from '../templates/template-version-store.ts'
import { createReceiverClient, type ReceiverClient } from '../webhooks/attempts/post.ts'
import { createRecordEvents, createSubscribedEvents, type SubscribedEvents } from '../webhooks/events/record-events.ts'
import { type BacklogGuard, createBacklogGuard } from '../webhooks/registrations/backlog.ts'

const SENDER_TTL_MS = 3_000
/** Connections reserved for shared statements: counts, sends, mails, provider events. */
const FREE_CONNECTIONS = 1
const WAITING = { maxWaiting: 1_500, maxWaitMs: 2_000, maxHeavyWaitMs: 20_000 }

export type Dependencies = {
  config: Config
  db: Pool
  /** A small pool for job statements. */
  workerDb: Pool
  log: Logger
  clock: Clock
  cipher: Cipher
  providers: Providers
  mailer: Mailer
  blobStore: BlobStore
  /** Absent when the sandbox is off. */
  sandboxUrl?: string | undefined
  /** Absent when tracing is off. */
  tracing?: Tracing
  /** Aborts on shutdown. */
  stopping?: Stopping
  /** Reads the metrics of all processes that share the port. Absent in a single process. */
  readMetrics?: (() => Promise<string>) | undefined
}

/** Dependencies shared by all features of one process. */
export type Deps = Dependencies & {
  /** The request pool, shared fairly among companies. */
  db: Pool
  /** Holds one of a company's slots while a request works with its rows. */
  holdSlot: CompanySlots['hold']
  /** The bare pool, for statements shared by several companies. */
  pool: Pool
  /** Throws 503 while a company is being moved. */
  requireUnlocked: RequireUnlocked
  metrics: Metrics
  apiKeys: ApiKeys
  /** Undefined when the console is off. */
  sessions: ConsoleSessions | undefined
  senders: SenderCache
  /** Secrets for provider signatures. */
  senderSecrets: SecretCache
  templates: TemplateCache
  breaker: Breaker
  /** Recent outcomes per mail server in this process. */
  mailHealth: MailHealth
  /** The only client for receiver URLs. */
  receiver: ReceiverClient
  /** Publishes committed changes to the live streams of all processes. */
  publish: Publish
  eventsStored: Signal
  emailsDue: Signal
  deliveriesDue: Signal
  subscribedEvents: SubscribedEvents
  recordEvents: RecordEvents
  backlogs: BacklogGuard
}

/** Builds the shared dependencies. */
export function createDeps(dependencies: Dependencies): Deps {
  const metrics = createMetrics()
  startAtZero(metrics, Object.keys(dependencies.providers))
  registerPoolGauge(metrics.registry, dependencies.db)
  const mailHealth = createMailHealth(dependencies.clock)
  const apiKeys = createApiKeys(dependencies)
  registerMailGauge(metrics.registry, mailHealth)
  const requireUnlocked = createRequireUnlocked(dependencies.db)
  const slots = createCompanySlots({ slots: dependencies.db.options.max - FREE_CONNECTIONS, ...WAITING })
  const { config, clock, log } = dependencies
  const subscribedEvents = createSubscribedEvents(dependencies.db, (error) =>
    log.debug({ reason: String(error) }, 'registrations.unread'),
  )
  const publish = createPublish(dependencies.db, (error) => log.debug({ reason: String(error) }, 'live.lost'))
  const backlogs = createBacklogs(dependencies, publish, subscribedEvents)
  return {
    ...dependencies,
    db: shareFairly(dependencies.db, slots, requireUnlocked),
    holdSlot: slots.hold,
    requireUnlocked,
    pool: dependencies.db,
    metrics,
    apiKeys,
    sessions: dependencies.config.console ? createSessions({ ...dependencies, apiKeys }) : undefined,
    senders: createSenderCache({ ...dependencies, ttlMs: SENDER_TTL_MS }),
    senderSecrets: createSecretCache({ db: dependencies.db, decrypt: dependencies.cipher.decrypt }),
    templates: createTemplateCache(dependencies.db),
    breaker: createBreaker(),
    mailHealth,
    receiver: createReceiverClient({
      allowPrivate: dependencies.config.webhookAllowPrivate,
      clock: dependencies.clock,
      proxy: dependencies.config.webhookProxy,
    }),
    publish,
    eventsStored: createSignal(),
    emailsDue: createSignal(),
    deliveriesDue: createSignal(),
    subscribedEvents,
    backlogs,
    recordEvents: createRecordEvents({
      clock,
      subscribedEvents,
      onDeliveries: backlogs.added,
      mediaAddress: createMediaSigner({ ...config, clock }).address,
    }),
  }
}

/** Publishes paused and resumed registrations and updates the subscription counts. */
function createBacklogs(
  { workerDb, config, log }: Dependencies,
  publish: Deps['publish'],
  subscribedEvents: SubscribedEvents,
): BacklogGuard {
  const onChanged = (companyId: number) => {
    publish([{ topic: 'all', companyId }])
    void subscribedEvents.refresh()
  }
  return createBacklogGuard({
    db: workerDb,
    most: config.webhookBacklog,
    onPaused: (companyId, registrationIds) => {
      log.warn({ companyId, registrationIds, reason: 'backlog' }, 'registration.paused')
      onChanged(companyId)
    },
    onResumed: (companyId) => {
      log.info({ companyId, reason: 'backlog' }, 'registration.resumed')
      onChanged(companyId)
    },
    onFailure: (error) => log.error({ reason: String(error) }, 'registration.backlog_unread'),
  })
}

/** A record instead of a list: the compiler finds missing outcomes. */
const SENDS: Record<SendOutcome['kind'], 0> = { accepted: 0, refused: 0, throttled: 0, unreachable: 0, unknown: 0 }
const MAILS: Record<Exclude<MailOutcome['kind'], 'unavailable'>, 0> = {
  accepted: 0,
  refused: 0,
  unknown: 0,
  withheld: 0,
}
const REPORTS: Record<MailReport['kind'] | 'ignored', 0> = { bounce: 0, complaint: 0, ignored: 0 }
const DELIVERIES = ['delivered', 'failed', 'dead', 'expired']
const IMPORTS = ['completed', 'failed']
const SEVERITIES: readonly AccountEvent['severity'][] = ['info', 'warning', 'critical']

/** Starts every label set at 0; alerts can't see an increase in a counter that starts at 1. */
function startAtZero(metrics: Metrics, providers: readonly string[]): void {
  for (const provider of providers) {
    for (const outcome of Object.keys(SENDS)) metrics.sends.inc({ provider, outcome }, 0)
    metrics.providerSeconds.zero({ provider, operation: 'send' })
  }
  for (const outcome of [...Object.keys(MAILS), ...SERVER_FAULTS]) metrics.emails.inc({ outcome }, 0)
  for (const kind of Object.keys(REPORTS)) metrics.mailReports.inc({ kind }, 0)
  for (const outcome of DELIVERIES) metrics.deliveries.inc({ outcome }, 0)
  for (const outcome of IMPORTS) metrics.imports.inc({ outcome }, 0)
  for (const reason of UNHANDLED_REASONS) metrics.unhandledEvents.inc({ reason }, 0)
  for (const severity of SEVERITIES) metrics.accountEvents.inc({ severity }, 0)
}
