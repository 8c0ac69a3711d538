import type { LiveChange } from '../changes/live-change.ts'
import type { Tracing } from '../platform/telemetry/tracing.ts'
import type { Job } from '../queue/job.ts'
import { createDeliverer, type Deliverer } from '../webhooks/attempts/deliver.ts'
import type { ReceiverClient } from '../webhooks/attempts/post.ts'
import type { EndDeps } from '../webhooks/deliveries/end/end-deliveries.ts'
import type { DeliveryLogRoutesDeps } from '../webhooks/deliveries/log/delivery-log-routes.ts'
import type { RegistrationRoutesDeps } from '../webhooks/registrations/registration-routes.ts'
import type { Deps } from './deps.ts'

/** The dependencies of webhook registrations and their logs. */
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

/** The deliverer of this process: counts its attempts in the metrics and publishes them to live streams. */
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

/** The dependencies of the deadlines of deliveries and of the pausing of registrations. */
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

/** A delivery as the live stream names it. */
export const toLiveChange = ({ companyId, subjectId }: Job): LiveChange[] =>
  companyId === undefined ? [] : [{ topic: 'delivery', companyId, id: subjectId }]

/** Each attempt is a span, whose context the receiver gets as `traceparent`. */
const traceDeliveries = (receiver: ReceiverClient, tracing: Tracing): ReceiverClient => ({
  ...receiver,
  post: (target) =>
    tracing.span('deliver', {}, async (set) => {
      const outcome = await receiver.post({ ...target, headers: { ...target.headers, ...tracing.headers() } })
      set({ outcome: outcome.kind, status: outcome.statusCode ?? 0 })
      return outcome
    }),
})
