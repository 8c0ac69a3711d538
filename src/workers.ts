import type { Deps } from './deps.ts'
import { startInboundWorker } from './inbound/inbound-worker.ts'
import { registerJobGauges } from './jobs/job-metric.ts'
import { createWorker } from './jobs/worker.ts'
import { settleAbandoned } from './messages/message-store.ts'
import { createMeasuredDeliverer } from './webhook-deps.ts'
import { DELIVER, forwardMessages } from './webhooks/delivery-job.ts'

const SWEEP_MS = 30_000
/** Longer than any send takes, with all its waits. */
const ABANDONED_AFTER_SECONDS = 60
/** Longer than any attempt at a delivery takes, and its record. */
const DRAIN_MS = 12_000

export type Workers = { stop(): Promise<void> }

/** Everything that goes on without a request (ROLE=worker, and all). */
export function startWorkers(deps: Deps): Workers {
  const deliverer = createMeasuredDeliverer(deps)
  const kinds = [deliverer.kind]
  const jobs = createWorker(deps, kinds)
  registerJobGauges(
    deps.metrics.registry,
    deps.db,
    kinds.map(({ kind }) => kind),
  )
  const inbound = startInboundWorker({
    ...deps,
    sourceType: deps.config.serviceName.toLowerCase(),
    forward: forwardMessages,
    copyMedia: async () => {},
    onSetAside: ({ state, reason }) => deps.log.warn({ state, reason }, 'inbound.set_aside'),
    onHandled: () => jobs.wake(DELIVER),
    onFailure: (error) => deps.log.error({ reason: String(error) }, 'inbound.failed'),
  })
  const sweep = () =>
    settleAbandoned(deps.db, ABANDONED_AFTER_SECONDS).catch((error) =>
      deps.log.error({ reason: String(error) }, 'sweep.failed'),
    )
  deps.eventsStored.onRaise(inbound.wake)
  void sweep()
  const timer = setInterval(sweep, SWEEP_MS)
  return {
    stop: async () => {
      clearInterval(timer)
      await inbound.stop()
      deliverer.close()
      await jobs.stop(DRAIN_MS)
      await deps.receiver.close()
    },
  }
}
