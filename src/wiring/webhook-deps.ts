import { createDeliverer, type Deliverer } from '../webhooks/deliver.ts'
import type { DeliveryLogRoutesDeps } from '../webhooks/delivery-log-routes.ts'
import type { RegistrationRoutesDeps } from '../webhooks/registration-routes.ts'
import type { Deps } from './deps.ts'

/** The dependencies of webhook registrations and their logs. */
export function createWebhookDeps(deps: Deps): RegistrationRoutesDeps & DeliveryLogRoutesDeps {
  const { serviceName, webhookAllowPrivate } = deps.config
  const rules = { serviceName, allowPrivate: webhookAllowPrivate }
  return { ...deps, serviceName, rules, onEnqueued: deps.deliveriesDue.raise }
}

/** The poster of attempts, with metrics. */
export function createMeasuredDeliverer(deps: Deps): Deliverer {
  const { config, metrics } = deps
  return createDeliverer({
    ...deps,
    serviceName: config.serviceName,
    random: Math.random,
    onAttempt: ({ next, durationMs }) => {
      metrics.deliveries.inc({ outcome: next instanceof Date ? 'failed' : next })
      metrics.deliverySeconds.observe(durationMs / 1000)
    },
  })
}
