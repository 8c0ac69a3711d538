import type { SendDeps } from '../messages/send.ts'
import { createSendBatches } from '../messages/send-batches.ts'
import type { Deps } from './deps.ts'

/** What sending works with: the process's caches, shared statements, and measurements of the provider. */
export function createSendDeps(deps: Deps): SendDeps & { db: Deps['db'] } {
  const { config, metrics, log } = deps
  return {
    ...deps,
    ...createSendBatches(deps.db, deps.clock),
    sourceType: config.serviceName.toLowerCase(),
    marketingWindow: config.marketingWindow,
    sessionWindow: config.sessionWindow,
    onSent: (provider, outcome, durationMs) => {
      metrics.sends.inc({ provider, outcome: outcome.kind })
      metrics.providerSeconds.observe({ provider, operation: 'send' }, durationMs / 1000)
    },
    onUnsettled: (error) => log.error({ reason: String(error) }, 'send.unsettled'),
  }
}
