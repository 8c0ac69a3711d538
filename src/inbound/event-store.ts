import type { Db } from '../db/connect.ts'

/** A raw event to keep: see migrations/0009_inbound.sql for what lane, part and others mean. */
export type NewEvent = {
  lane: number
  part: string
  others: readonly string[]
  body: Buffer
  /** Null: now. */
  receivedAt: Date | null
}

export type StoredEvent = { lane: number; id: number; part: string; others: string[]; body: Buffer; receivedAt: Date }

const LANE_LOCKS = 5_201_312

/**
 * Keeps raw events, in the order given. When it returns they are on disk. Their bodies travel as one value, cut apart
 * over there: as the elements of an array each would be escaped and read sign by sign.
 */
export async function storeEvents(db: Db, events: readonly NewEvent[]): Promise<void> {
  const bodies = joinBodies(events)
  await db`
    insert into inbound_events (lane, part, others, body, received_at)
    select
      event.lane, event.part, coalesce(string_to_array(event.others, chr(10)), '{}'),
      substring(given.bytes from event.first for event.length), coalesce(event.received_at::timestamptz, now())
    from (select ${bodies.bytes}::bytea as bytes) as given
    cross join unnest(
      ${events.map(({ lane }) => lane)}::smallint[],
      ${events.map(({ part }) => part)}::text[],
      ${unlessEmpty(events.map(({ others }) => (others.length === 0 ? null : others.join('\n'))))}::text[],
      ${bodies.firsts}::integer[],
      ${events.map(({ body }) => body.length)}::integer[],
      ${unlessEmpty(events.map(({ receivedAt }) => receivedAt?.toISOString() ?? null))}::text[]
    ) with ordinality as event (lane, part, others, first, length, received_at, place)
    order by event.place
  `
}

/** A column that says nothing need not travel: without it every row has null there. */
const unlessEmpty = (column: (string | null)[]) => (column.some((value) => value !== null) ? column : null)

/** All bodies behind each other, the parts of one body sharing it, and where each event's begins, counted from 1. */
function joinBodies(events: readonly NewEvent[]): { bytes: Buffer; firsts: number[] } {
  const bodies: Buffer[] = []
  let end = 1
  const firsts = events.map(({ body }) => {
    if (body !== bodies.at(-1)) {
      bodies.push(body)
      end += body.length
    }
    return end - body.length
  })
  return { bytes: Buffer.concat(bodies), firsts }
}

/** A lane that holds events, and how many, counted up to a limit. */
export type BusyLane = { lane: number; waiting: number }

/** The lanes that hold events, the longest waiting first: one look into the index per lane, however many events. */
export function listBusyLanes(db: Db, lanes: number, limit: number): Promise<BusyLane[]> {
  return db<BusyLane[]>`
    select lane.number as lane, held.waiting
    from generate_series(0, ${lanes - 1}::integer) as lane (number)
    cross join lateral (
      select count(*)::integer as waiting, min(event.id) as first
      from (
        select event.id
        from inbound_events event
        where event.lane = lane.number
        order by event.id
        limit ${limit}
      ) as event
    ) as held
    where held.waiting > 0
    order by held.first
  `
}

/** Takes lanes for this transaction; answers those that no other worker has. */
export async function claimLanes(tx: Db, lanes: readonly number[]): Promise<number[]> {
  const rows = await tx<{ lane: number }[]>`
    select wanted.lane
    from unnest(${lanes as number[]}::integer[]) as wanted (lane)
    where pg_try_advisory_xact_lock(${LANE_LOCKS}, wanted.lane)
  `
  return rows.map(({ lane }) => lane)
}

/** The oldest events of lanes, in order: as many as fit, at least one. The caller holds the lanes. */
export function readEvents(
  tx: Db,
  lanes: readonly number[],
  { limit, bytes }: { limit: number; bytes: number },
): Promise<StoredEvent[]> {
  return tx<StoredEvent[]>`
    select lane, id, part, others, body, received_at
    from (
      select event.*, sum(octet_length(event.body)) over (order by event.id) - octet_length(event.body) as bytes_before
      from (
        select event.*
        from unnest(${lanes as number[]}::smallint[]) as own (lane)
        cross join lateral (
          select lane, id, part, others, body, received_at
          from inbound_events held
          where held.lane = own.lane
          order by held.id
          limit ${limit}
        ) as event
        order by event.id
        limit ${limit}
      ) as event
    ) as event
    where bytes_before < ${bytes}
    order by id
  `
}

/** Removes events that have been handled, in the transaction that wrote what follows from them. */
export async function removeEvents(tx: Db, events: readonly StoredEvent[]): Promise<void> {
  const lanes = [...new Set(events.map(({ lane }) => lane))]
  await tx`
    delete from inbound_events
    where lane = any(${lanes}::smallint[]) and id = any(${events.map(({ id }) => id)}::bigint[])
  `
}

export type EventStats = { waiting: number; oldestSeconds: number }

/** How much waits: exact up to 10,000 events, then 10,000. */
export async function readEventStats(db: Db): Promise<EventStats> {
  const [row] = await db<EventStats[]>`
    select
      count(*)::int as waiting,
      coalesce(extract(epoch from now() - min(received_at)), 0)::float8 as oldest_seconds
    from (select received_at from inbound_events limit 10000) as event
  `
  return row ?? { waiting: 0, oldestSeconds: 0 }
}
