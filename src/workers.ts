import type { Deps } from './deps.ts'
import { startInboundWorker } from './inbound/inbound-worker.ts'
import { settleAbandoned } from './messages/message-store.ts'

const SWEEP_MS = 30_000
/** Longer than any send takes, with all its waits. */
const ABANDONED_AFTER_SECONDS = 60

export type Workers = { stop(): Promise<void> }

/** Everything that goes on without a request (ROLE=worker, and all). */
export function startWorkers(deps: Deps): Workers {
  const inbound = startInboundWorker({
    ...deps,
    sourceType: deps.config.serviceName.toLowerCase(),
    forward: async () => {},
    copyMedia: async () => {},
    onSetAside: ({ state, reason }) => deps.log.warn({ state, reason }, 'inbound.set_aside'),
    onHandled: () => {},
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
    },
  }
}
