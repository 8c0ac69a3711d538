import { randomUUID } from 'node:crypto'
import type { ChangeOf, RecordChange, RecordEventName, RecordEvents, RunAll } from '../../changes/record-change.ts'
import type { Db } from '../../db/connect.ts'
import type { Clock } from '../../platform/clock.ts'
import { enqueueAndCount, type NewEnvelope } from '../deliveries/delivery-store.ts'
import { listSubscribedEvents } from '../registrations/registration-store.ts'
import { type BuiltEvent, type EventDeps, recordEventBody } from './event-kind.ts'
import { RECORD_EVENTS } from './record-kinds.ts'

/** One contact change can make a delivery for each of up to 50 registrations. */
const DELIVERIES_PER_STATEMENT = 500
const CHANGES_PER_STATEMENT = 100

type Slice = { readonly event: RecordEventName; readonly changes: readonly RecordChange[] }

type RecordEventsDeps = Pick<EventDeps, 'mediaAddress'> & {
  clock: Clock
  subscribedEvents: Pick<SubscribedEvents, 'has' | 'receivers'>
  onDeliveries?: (companyId: number, deliveries: number) => void
}

/** Creates record events in the transaction that changed the records. */
export function createRecordEvents({
  clock,
  subscribedEvents,
  mediaAddress,
  onDeliveries = () => {},
}: RecordEventsDeps): RecordEvents {
  const deps: EventDeps = { mediaAddress, now: () => clock.now(), newId: randomUUID }
  return {
    isSubscribed: (event, companyIds) => [...companyIds].some((companyId) => subscribedEvents.has(companyId, event)),
    publish: async (tx, changes, runAll = runInOrder) => {
      const relevant = changes.filter(({ companyId, event }) => subscribedEvents.has(companyId, event))
      for (const [companyId, own] of Map.groupBy(relevant, (change) => change.companyId)) {
        const slices = slicesOf(own, (event) => subscribedEvents.receivers(companyId, event))
        let deliveries = 0
        const steps = slices.map((slice) => async () => {
          deliveries += await enqueueAndCount(tx, await toEnvelopes(tx, deps, companyId, slice))
        })
        await runAll(companyId, steps)
        // Must run right before the commit: an earlier count would miss them.
        if (deliveries > 0) onDeliveries(companyId, deliveries)
      }
    },
  }
}

const runInOrder: RunAll = async (_companyId, statements) => {
  for (const run of statements) await run()
}

function slicesOf(changes: readonly RecordChange[], receiversOf: (event: RecordEventName) => number): Slice[] {
  return [...Map.groupBy(changes, ({ event }) => event)].flatMap(([event, alike]) => {
    const receivers = Math.max(receiversOf(event), 1)
    const length = Math.max(Math.min(Math.floor(DELIVERIES_PER_STATEMENT / receivers), CHANGES_PER_STATEMENT), 1)
    const starts = Array.from({ length: Math.ceil(alike.length / length) }, (_, n) => n * length)
    return starts.map((start) => ({ event, changes: alike.slice(start, start + length) }))
  })
}

async function toEnvelopes(
  tx: Db,
  deps: EventDeps,
  companyId: number,
  { event, changes }: Slice,
): Promise<NewEnvelope[]> {
  const built = await build(tx, deps, companyId, event, changes)
  return built.map((one) => toEnvelope(companyId, event, deps.now(), one))
}

function build<Name extends RecordEventName>(
  tx: Db,
  deps: EventDeps,
  companyId: number,
  event: Name,
  changes: readonly RecordChange[],
): Promise<BuiltEvent[]> {
  const isOfEvent = (change: RecordChange): change is ChangeOf<Name> => change.event === event
  return RECORD_EVENTS[event].build(tx, deps, companyId, changes.filter(isOfEvent))
}

const toEnvelope = (companyId: number, event: RecordEventName, at: Date, built: BuiltEvent): NewEnvelope => ({
  companyId,
  event,
  eventId: built.eventId,
  messageId: built.messageId,
  conversationId: built.conversationId,
  channelIds: built.channelIds,
  body: recordEventBody(event, companyId, at, built),
})

const REFRESH_MS = 1_000

export type SubscribedEvents = {
  has(companyId: number, event: string): boolean
  receivers(companyId: number, event: string): number
  /** Includes every change committed before the call. */
  refresh(): Promise<void>
  start(): () => void
}

/** Caches subscriptions: a write without subscribers runs no event statement. Other processes' changes take up to a second. */
export function createSubscribedEvents(db: Db, onFailure: (error: unknown) => void): SubscribedEvents {
  let subscribed = new Map<number, ReadonlyMap<string, number>>()
  let last: Promise<void> = Promise.resolve()
  const read = async () => {
    const rows = Map.groupBy(await listSubscribedEvents(db), ({ companyId }) => companyId)
    subscribed = new Map(
      [...rows].map(([companyId, own]) => [companyId, new Map(own.map(({ event, receivers }) => [event, receivers]))]),
    )
  }
  // An older result must not replace a newer one.
  const refresh = () => {
    last = last.then(read).catch(onFailure)
    return last
  }
  return {
    has: (companyId, event) => subscribed.get(companyId)?.has(event) ?? false,
    receivers: (companyId, event) => subscribed.get(companyId)?.get(event) ?? 0,
    refresh,
    start: () => {
      void refresh()
      const timer = setInterval(() => void refresh(), REFRESH_MS)
      return () => clearInterval(timer)
    },
  }
}
