import type { Deps } from './deps.ts'
import { removeExpiredKeys } from './http/idempotency-store.ts'
import { registerEventGauges } from './inbound/event-metric.ts'
import { startInboundWorker } from './inbound/inbound-worker.ts'
import { forgetUnroutable } from './inbound/item-store.ts'
import { done, type Job, retryAfter, retryAt } from './jobs/job.ts'
import type { JobKind } from './jobs/job-kind.ts'
import { registerJobGauges } from './jobs/job-metric.ts'
import { createWorker } from './jobs/worker.ts'
import { copyMedia, recordMedia } from './media/copy-media.ts'
import { createMediaDeps, enqueueCopies, MEDIA_COPY } from './media-deps.ts'
import { settleAbandoned } from './messages/message-store.ts'
import { refreshTemplates, TEMPLATES_REFRESH } from './templates-refresh.ts'

const SWEEP_MS = 30_000
/** Longer than any send takes, with all its waits. */
const ABANDONED_AFTER_SECONDS = 60
const EXPIRED_AT_ONCE = 10_000

export type Workers = { stop(): Promise<void> }

/** Everything that goes on without a request (ROLE=worker, and all): inbound events, jobs, and sweeps. */
export function startWorkers(deps: Deps): Workers {
  const kinds = jobKinds(deps)
  registerJobGauges(
    deps.metrics.registry,
    deps.db,
    kinds.map(({ kind }) => kind),
  )
  registerEventGauges(deps.metrics.registry, deps.db)
  const jobs = createWorker({ ...deps, db: deps.workerDb }, kinds)
  const inbound = startInboundWorker({
    ...deps,
    sourceType: deps.config.serviceName.toLowerCase(),
    forward: async () => {},
    copyMedia: (tx, media) => recordMedia(enqueueCopies, tx, media),
    onSetAside: ({ state, reason }) => deps.log.warn({ state, reason }, 'inbound.set_aside'),
    onHandled: () => jobs.wake(MEDIA_COPY),
    onFailure: (error) => deps.log.error({ reason: String(error) }, 'inbound.failed'),
  })
  deps.eventsStored.onRaise(inbound.wake)
  const sweeps = startSweeps(deps)
  return {
    stop: async () => {
      await Promise.all([inbound.stop(), sweeps.stop(), jobs.stop()])
    },
  }
}

/** Every kind of job, one entry each. */
function jobKinds(deps: Deps): JobKind[] {
  const media = createMediaDeps(deps)
  return [
    {
      kind: MEDIA_COPY,
      laneCap: 4,
      companyCap: 8,
      concurrency: 16,
      handle: async ({ companyId = 0, subjectId }, signal) => {
        const outcome = await copyMedia(media, companyId, subjectId, signal)
        return outcome.kind === 'retry' ? retryAt(outcome.at) : done
      },
    },
    {
      kind: TEMPLATES_REFRESH,
      laneCap: 1,
      concurrency: 4,
      handle: async ({ subjectId }: Job) => {
        const next = await refreshTemplates(deps, subjectId)
        return next === undefined ? done : retryAfter(next, { counts: false })
      },
    },
  ]
}

/** What nobody waits for: sends of dead processes, answers and events past their time. */
function startSweeps(deps: Deps): { stop(): Promise<void> } {
  let running = Promise.resolve()
  const sweep = async () => {
    await settleAbandoned(deps.db, ABANDONED_AFTER_SECONDS)
    await removeExpiredKeys(deps.db, EXPIRED_AT_ONCE)
    await forgetUnroutable(deps.db)
  }
  const next = () => {
    running = running.then(sweep).catch((error) => deps.log.error({ reason: String(error) }, 'sweep.failed'))
  }
  next()
  const timer = setInterval(next, SWEEP_MS)
  return {
    stop: () => {
      clearInterval(timer)
      return running
    },
  }
}
