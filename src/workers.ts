import { takeUpWaiting } from './conversations/waiting-status.ts'
import { forgetWaiting } from './conversations/waiting-status-store.ts'
import type { Deps } from './deps.ts'
import { startInboundWorker } from './inbound/inbound-worker.ts'
import { settleAbandoned } from './messages/message-store.ts'

const SWEEP_MS = 30_000
/** Statuses that came before their message was known wait so long at most. */
const TAKE_UP_MS = 2_000
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
  const takeUp = () =>
    takeUpWaiting(deps.db, deps.clock.now()).catch((error) =>
      deps.log.error({ reason: String(error) }, 'statuses.not_taken_up'),
    )
  const sweep = () =>
    Promise.all([settleAbandoned(deps.db, ABANDONED_AFTER_SECONDS), forgetWaiting(deps.db)]).catch((error) =>
      deps.log.error({ reason: String(error) }, 'sweep.failed'),
    )
  deps.eventsStored.onRaise(inbound.wake)
  void sweep()
  const timer = setInterval(sweep, SWEEP_MS)
  const takeUpTimer = setInterval(takeUp, TAKE_UP_MS)
  return {
    stop: async () => {
      clearInterval(timer)
      clearInterval(takeUpTimer)
      await inbound.stop()
    },
  }
}
