import { randomUUID } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import type { Db } from '../../db/connect.ts'
import type { ChangeOf, RecordChange, RecordEventName, RecordEvents } from '../../record-change.ts'
import { enqueueDeliveries, type NewEnvelope } from '../deliveries/delivery-store.ts'
import type { SubscribedEvents } from '../registrations/subscribed-events.ts'
import { type BuiltEvent, type EventDeps, recordEventBody } from './event-kind.ts'
import { RECORD_EVENTS } from './record-kinds.ts'

export type RecordEventsDeps = Pick<EventDeps, 'mediaAddress'> & {
  clock: Clock
  subscribedEvents: Pick<SubscribedEvents, 'has'>
  /** Takes note of how many deliveries a company gets, before the commit. */
  onDeliveries?: (companyId: number, deliveries: number) => void
}

/** Events about records of the API: built and enqueued in the transaction that changed the records. */
export function createRecordEvents({
  clock,
  subscribedEvents,
  mediaAddress,
  onDeliveries = () => {},
}: RecordEventsDeps): RecordEvents {
  const deps: EventDeps = { mediaAddress, now: () => clock.now(), newId: randomUUID }
  return {
    isSubscribed: (event, companyIds) => [...companyIds].some((companyId) => subscribedEvents.has(companyId, event)),
    publish: async (tx, changes) => {
      const envelopes: NewEnvelope[] = []
      const relevant = changes.filter(({ companyId, event }) => subscribedEvents.has(companyId, event))
      for (const [companyId, own] of Map.groupBy(relevant, (change) => change.companyId)) {
        for (const [event, alike] of Map.groupBy(own, (change) => change.event)) {
          const built = await build(tx, deps, companyId, event, alike)
          envelopes.push(...built.map((one) => toEnvelope(companyId, event, deps.now(), one)))
        }
      }
      const deliveries = Map.groupBy(await enqueueDeliveries(tx, envelopes), ({ companyId }) => companyId)
      for (const [companyId, own] of deliveries) onDeliveries(companyId, own.length)
    },
  }
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
