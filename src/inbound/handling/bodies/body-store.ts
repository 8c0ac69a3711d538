import type { Db } from '../../../db/connect.ts'
import type { StoredEvent } from '../../event-store.ts'
import type { Proof } from '../../ingest/signature.ts'
import { isOneOf, type Waited, waitsFor } from '../unhandled/dead-letter-store.ts'

const BYTES_AT_ONCE = 4 * 1024 * 1024
const BODIES_AT_ONCE = 500

/** Keeps the bodies for stored events, once per event. Items refer to them by event id. */
export async function storeBodies(tx: Db, events: readonly StoredEvent[]): Promise<void> {
  if (events.length === 0) return
  await tx`
    insert into inbound_bodies (event_id, body, signature, secret_mac, received_at)
    select event.id, event.body, event.signature, event.secret_mac, event.received_at
    from unnest(
      ${events.map(({ lane }) => lane)}::smallint[], ${events.map(({ id }) => id)}::bigint[]
    ) as kept (lane, id)
    join inbound_events event on (event.lane, event.id) = (kept.lane, kept.id)
    on conflict (event_id) do nothing
  `
}

type WaitingBody = Proof & { eventId: number; body: Buffer | null }

/** Lists the next bodies with unroutable or unverified items for a number, its account or app. */
export function listWaitingBodies(
  tx: Db,
  sender: Waited,
  after: number,
  only?: readonly number[],
): Promise<WaitingBody[]> {
  return tx<WaitingBody[]>`
    select event_id, signature, secret_mac, case when signature is not null or secret_mac is not null then body end as body
    from (
      select
        bodies.*,
        sum(octet_length(bodies.body)) over (order by bodies.event_id) - octet_length(bodies.body) as bytes_before
      from inbound_bodies bodies
      where bodies.event_id > ${after}
        and bodies.event_id in (
          select item.event_id
          from inbound_items item
          where item.state in ('unroutable', 'unverified') and ${waitsFor(sender)} ${isOneOf(only)}
        )
      order by bodies.event_id
      limit ${BODIES_AT_ONCE}
    ) as bodies
    where bytes_before < ${BYTES_AT_ONCE}
    order by event_id
  `
}
