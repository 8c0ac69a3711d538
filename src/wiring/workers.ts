import type { LiveChange } from '../changes/live-change.ts'
import { importKind } from '../contacts/import/contact-import-run.ts'
import { addUpChanges } from '../contacts/search/contact-list.ts'
import { sweepSearchTexts } from '../contacts/search/search-sweep.ts'
import { refoldProfiles } from '../conversations/list/profile-search.ts'
import { makeMessageMonths } from '../conversations/message-expiry-store.ts'
import { isContention, isLockTimeout, sqlState } from '../db/pool/failure.ts'
import { endStuckSessions } from '../db/pool/stuck-session-store.ts'
import { analyzeGrownTables } from '../db/server/statistics-store.ts'
import { emailSendKind } from '../emails/delivery/email-delivery.ts'
import { rekeyEmails } from '../emails/email-keys.ts'
import { EMAIL_SEND } from '../emails/email-store.ts'
import { type NewEvent, registerEventGauges } from '../inbound/event-store.ts'
import { applyWaiting } from '../inbound/handling/apply-waiting.ts'
import { sweepContents } from '../inbound/handling/content-sweep.ts'
import { type InboundWorkerDeps, startInboundWorker } from '../inbound/handling/inbound-worker.ts'
import { describeUnhandled, unhandledReasonOf } from '../inbound/handling/unhandled/keep-unhandled.ts'
import { requeueMissedEvents } from '../inbound/handling/unhandled/requeue.ts'
import { createAtOnce } from '../inbound/ingest/accept.ts'
import { copyKind, MEDIA_COPY, recordMedia } from '../media/copy/copy-media.ts'
import { registerUndeletedGauge } from '../media/discarded/discarded-file-store.ts'
import { sweepMailboxes } from '../people/matching/mailbox-sweep.ts'
import { eraseKind } from '../personal-data/erase-contact.ts'
import { listLifetimes } from '../personal-data/lifetimes/lifetimes.ts'
import type { Tracing } from '../platform/telemetry/tracing.ts'
import type { Job, JobKind } from '../queue/job.ts'
import { registerJobGauges } from '../queue/job-stats.ts'
import { type Sweep, startSweep } from '../queue/sweep.ts'
import { createWorker } from '../queue/worker.ts'
import type { AccountEvent } from '../senders/account-event-store.ts'
import { giveBackPlaces } from '../sends/batch/daily-limit-store.ts'
import { completeAbandoned } from '../sends/message-store.ts'
import { sendScheduledKind } from '../sends/scheduled/scheduled-job.ts'
import { refreshKind } from '../templates/template-sync.ts'
import { createDeliverer, type Deliverer } from '../webhooks/attempts/deliver.ts'
import type { ReceiverClient } from '../webhooks/attempts/post.ts'
import { maintainDeliveryDays } from '../webhooks/deliveries/delivery-days.ts'
import { DELIVER } from '../webhooks/deliveries/delivery-store.ts'
import { type EndDeps, endDeliveries, registerPausedGauge } from '../webhooks/deliveries/end-deliveries.ts'
import { redeliverKind } from '../webhooks/deliveries/redelivery/redelivery.ts'
import { forwardMessages } from '../webhooks/events/message-received.ts'
import type { Deps } from './deps.ts'
import { bodyReader } from './events/body-reader.ts'
import { eventReader } from './events/event-reader.ts'
import {
  createEmailDeps,
  createErasureDeps,
  createImportJobDeps,
  createMediaDeps,
  createSendDeps,
} from './feature-deps.ts'
import { readAccounts } from './operator-deps.ts'

const SWEEP_MS = 30_000
/** Interval and age for finding workers frozen inside a statement. */
const STUCK_CHECK_MS = 5_000
const STUCK_AFTER_SECONDS = 8
/** Retry interval for statuses, edits and revokes whose messages hadn't arrived. */
const APPLY_WAITING_MS = 2_000
/** Interval for creating and dropping delivery partitions. A drop without its lock waits for the next run. */
const DELIVERY_DAYS_MS = 60_000
const MESSAGE_MONTHS_MS = 3_600_000
const DELIVERY_ENDS_MS = 30_000
const PASSES_MS = 600_000
const COUNT_MS = 1_000
/** Interval for resuming events whose backlog has halved. */
const BACKLOGS_MS = 10_000
/** New tables fill within seconds; most servers gather statistics only once a minute. */
const STATISTICS_MS = 1_000
/** Longer than any send, including its waits. */
const ABANDONED_AFTER_SECONDS = 60
/** Longer than any delivery attempt with its record. */
const DRAIN_MS = 12_000

export type Workers = {
  takeEvents(events: readonly NewEvent[]): Promise<void>
  stop(): Promise<void>
}

/** Starts all background work (ROLE=worker or all): inbound events, jobs and sweeps. */
export function startWorkers(deps: Deps): Workers {
  const deliverer = createMeasuredDeliverer(deps)
  const kinds = [deliverer.kind, ...jobKinds(deps)]
  registerJobGauges(deps.metrics.registry, deps.workerDb, kinds)
  registerEventGauges(deps.metrics.registry, deps.db)
  registerPausedGauge(deps.metrics.registry, deps.workerDb)
  registerUndeletedGauge(deps.metrics.registry, deps.workerDb)
  const countFailure = failureCounter(deps, ['events', ...kinds.map(({ kind }) => kind)])
  const jobs = createWorker({ ...deps, db: deps.workerDb, onThrow: countFailure }, kinds)
  deps.emailsDue.onRaise(() => jobs.wake(EMAIL_SEND))
  deps.deliveriesDue.onRaise(() => jobs.wake(DELIVER))
  const { tracing } = deps
  const handling: InboundWorkerDeps = {
    ...deps,
    ...(tracing && { traced: (work) => tracing.span('handle', {}, work) }),
    events: bodyReader,
    sourceType: sourceTypeOf(deps),
    giveBackPlaces,
    decrypt: deps.cipher.decrypt,
    forward: async (tx, messages) => {
      const accepted = jobs.acceptDirect(DELIVER)
      const { leased, waiting } = await forwardMessages(tx, messages, accepted)
      return () => {
        if (accepted) jobs.dispatch(leased, accepted)
        if (waiting.length > 0) jobs.wake(DELIVER)
        deps.publish([
          ...leased.flatMap(toLiveChange),
          ...waiting.map(({ companyId, deliveryId: id }): LiveChange => ({ topic: 'delivery', companyId, id })),
        ])
      }
    },
    copyMedia: async (tx, media) => {
      await recordMedia(tx, media)
      return () => {
        if (media.length > 0) jobs.wake(MEDIA_COPY)
      }
    },
    onAccountEvents: (events) => noteAccountEvents(deps, events),
    onUnhandled: (unhandled) => {
      for (const one of unhandled) deps.metrics.unhandledEvents.inc({ reason: unhandledReasonOf(one) })
      deps.log.warn(describeUnhandled(unhandled), 'inbound.unhandled')
    },
    onFailure: (error) => {
      countFailure('events', error)
      deps.log.error({ code: sqlState(error), reason: String(error) }, 'inbound.failed')
    },
  }
  const inbound = startInboundWorker(handling)
  const takeAtOnce = createAtOnce(handling)
  deps.eventsStored.onRaise(inbound.wake)
  const stopping = new AbortController()
  const sweeps = startSweeps(deps, stopping.signal)
  return {
    takeEvents: async (events) => {
      const stored = await (tracing ? tracing.span('handle', {}, () => takeAtOnce(events)) : takeAtOnce(events))
      if (stored > 0) inbound.wake()
    },
    stop: async () => {
      stopping.abort()
      deliverer.close()
      await Promise.all([inbound.stop(), jobs.stop(DRAIN_MS), ...sweeps.map((one) => one.stop())])
      await deps.receiver.close()
      deps.mailer.close()
    },
  }
}

/** Counts failed runs per kind of work, starting at 0. Lock waits aren't failures. */
function failureCounter({ metrics }: Deps, works: readonly string[]): (work: string, error: unknown) => void {
  for (const work of works) metrics.workFailures.inc({ work }, 0)
  return (work, error) => {
    if (!isContention(error) && !isLockTimeout(error)) metrics.workFailures.inc({ work })
  }
}

/** Drops cached templates and numbers older than the event being handled. */
function noteAccountEvents({ log, metrics, senders, templates }: Deps, events: readonly AccountEvent[]): void {
  templates.drop()
  for (const { companyId, wabaAccountId, field, event, severity } of events) {
    senders.drop(companyId)
    metrics.accountEvents.inc({ severity })
    const line = { companyId, wabaAccountId, field, event, severity }
    if (severity === 'critical') log.error(line, 'account.event')
    else if (severity === 'warning') log.warn(line, 'account.event')
  }
}

const startSweeps = (deps: Deps, stopping: AbortSignal): Sweep[] => {
  const { db, workerDb, config } = deps
  const every = (everyMs: number, name: string, work: () => Promise<unknown>) =>
    startSweep(deps, { name, everyMs }, work)
  const lifetimes = listLifetimes(deps)
  return [
    every(SWEEP_MS, 'abandoned_sends', async () =>
      publishMessages(deps, await completeAbandoned(db, ABANDONED_AFTER_SECONDS)),
    ),
    every(SWEEP_MS, 'missed_events', () => requeueMissed(deps)),
    ...lifetimes.map(({ name, everyMs, expire }, place) =>
      startSweep(deps, { name: `expiry_${name}`, everyMs, afterMs: (everyMs * place) / lifetimes.length }, () =>
        expire(stopping),
      ),
    ),
    every(PASSES_MS, 'message_contents', () => sweepContents({ db, events: eventReader }, stopping)),
    every(PASSES_MS, 'mailboxes', () => sweepMailboxes({ db, rekeyEmails }, stopping)),
    every(PASSES_MS, 'search_texts', () => sweepSearchTexts({ db, refoldProfiles }, stopping)),
    every(STUCK_CHECK_MS, 'stuck_sessions', () => endStuckSessions(db, STUCK_AFTER_SECONDS)),
    every(APPLY_WAITING_MS, 'waiting_statuses', () =>
      applyWaiting({ ...deps, giveBackPlaces, sourceType: sourceTypeOf(deps) }, stopping),
    ),
    every(DELIVERY_DAYS_MS, 'delivery_days', () => maintainDeliveryDays(workerDb, config.deliveryLogDays)),
    every(MESSAGE_MONTHS_MS, 'message_months', () => makeMessageMonths(workerDb)),
    every(DELIVERY_ENDS_MS, 'delivery_ends', () => endDeliveries(createEndDeps(deps), stopping)),
    every(BACKLOGS_MS, 'backlogs', () => deps.backlogs.resume()),
    every(COUNT_MS, 'contact_counts', () => addUpChanges(db)),
    every(STATISTICS_MS, 'statistics', () => analyzeGrownTables(db)),
  ]
}

const sourceTypeOf = ({ config }: Deps): string => config.serviceName.toLowerCase()

const publishMessages = ({ publish }: Deps, messages: readonly { companyId: number; id: number }[]): void =>
  publish(messages.map(({ companyId, id }) => ({ topic: 'message', companyId, id })))

const jobKinds = (deps: Deps): JobKind[] => [
  importKind(createImportJobDeps(deps)),
  eraseKind(createErasureDeps(deps)),
  emailSendKind(createEmailDeps(deps)),
  copyKind(createMediaDeps(deps)),
  refreshKind({ ...deps, readAccounts: (companyId) => readAccounts(deps, companyId) }),
  redeliverKind({
    db: deps.workerDb,
    onRenewed: (companyId) => {
      deps.deliveriesDue.raise()
      deps.publish([{ topic: 'all', companyId }])
    },
  }),
  sendScheduledKind({ ...createSendDeps(deps), db: deps.workerDb, publish: deps.publish }),
]

/** Requeues events that were unroutable until their number was connected. */
async function requeueMissed({ db, cipher, eventsStored }: Deps): Promise<void> {
  const requeued = await db.begin((tx) => requeueMissedEvents({ decrypt: cipher.decrypt, events: eventReader }, tx))
  if (requeued > 0) eventsStored.raise()
}

/** Builds the deliverer, which reports attempts to metrics and live streams. */
function createMeasuredDeliverer(deps: Deps): Deliverer {
  const { config, metrics } = deps
  return createDeliverer({
    ...deps,
    receiver: deps.tracing ? traceDeliveries(deps.receiver, deps.tracing) : deps.receiver,
    serviceName: config.serviceName,
    random: Math.random,
    onAttempt: ({ companyId, deliveryId, next, durationMs }) => {
      deps.publish([{ topic: 'delivery', companyId, id: deliveryId }])
      metrics.deliveries.inc({ outcome: next instanceof Date ? 'failed' : next })
      metrics.deliverySeconds.observe(durationMs / 1000)
    },
    onSkipped: (jobs) => deps.publish(jobs.flatMap(toLiveChange)),
  })
}

const createEndDeps = (deps: Deps): EndDeps => ({
  db: deps.workerDb,
  clock: deps.clock,
  deadlineHours: deps.config.deliveryDeadlineHours,
  onExpired: (deliveries) => {
    deps.metrics.deliveries.inc({ outcome: 'expired' }, deliveries.length)
    deps.log.warn({ deliveries: deliveries.length }, 'delivery.expired')
    deps.publish(deliveries.map(({ companyId, deliveryId: id }): LiveChange => ({ topic: 'delivery', companyId, id })))
  },
  onPaused: ({ companyId, id }) => {
    deps.log.warn({ companyId, registrationId: id }, 'registration.paused')
    deps.publish([{ topic: 'all', companyId }])
  },
})

const toLiveChange = ({ companyId, subjectId }: Job): LiveChange[] =>
  companyId === undefined ? [] : [{ topic: 'delivery', companyId, id: subjectId }]

/** Traces each attempt; the receiver gets its context in `traceparent`. */
const traceDeliveries = (receiver: ReceiverClient, tracing: Tracing): ReceiverClient => ({
  ...receiver,
  post: (target) =>
    tracing.span('deliver', {}, async (set) => {
      const outcome = await receiver.post({ ...target, headers: { ...target.headers, ...tracing.headers() } })
      set({ outcome: outcome.kind, status: outcome.statusCode ?? 0 })
      return outcome
    }),
})
