import type { LiveChange } from '../changes/live-change.ts'
import type { Tracing } from '../platform/telemetry/tracing.ts'
import type { Job } from '../queue/job.ts'
import { createDeliverer, type Deliverer } from '../webhooks/attempts/deliver.ts'
import type { ReceiverClient } from '../webhooks/attempts/post.ts'
import type { EndDeps } from '../webhooks/deliveries/end-deliveries.ts'
import type { DeliveryLogRoutesDeps } from '../webhooks/deliveries/log/delivery-log-routes.ts'
import type { RegistrationRoutesDeps } from '../webhooks/registrations/registration-routes.ts'
import type { Deps } from './deps.ts'

export function createWebhookDeps(deps: Deps): RegistrationRoutesDeps & DeliveryLogRoutesDeps {
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

/** Builds the deliverer, which reports attempts to metrics and live streams. */
export function createMeasuredDeliverer(deps: Deps): Deliverer {
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

export const createEndDeps = (deps: Deps): EndDeps => ({
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

export const toLiveChange = ({ companyId, subjectId }: Job): LiveChange[] =>
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
