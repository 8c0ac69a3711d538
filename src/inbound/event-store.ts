import { Gauge, type Registry } from 'prom-client'
import type { Db, Pool } from '../db/connect.ts'
import { inputRows, placedRows } from '../db/input-rows.ts'

/** HMAC-SHA256 values over the raw body, kept so that they can be checked once the number is connected. */
export type Proof = {
  /** Made by the provider with the app secret. */
  signature: Buffer | null
  /** Made here with the request's webhook secret, which must not be stored. */
  secretMac: Buffer | null
}

export const UNPROVEN: Proof = { signature: null, secretMac: null }

/** A posted or requeued body. */
export type Arrival = {
  body: Buffer
  /** Absent: now, by the database's clock. */
  receivedAt?: Date | null
  /** Null if already checked. */
  proof: Proof | null
  /** Whether each item must prove its number, because the body proves only some. */
  needsProof?: boolean
  /** Client charged for unroutable items; null for requeued or proven bodies. */
  address: string | null
}

/** See migrations/0004_events_and_deliveries.sql for lane, part and others. */
export type NewEvent = Arrival & { lane: number; part: string; others: readonly string[] }

export type StoredEvent = Proof & {
  lane: number
  id: number
  part: string
  others: string[]
  body: Buffer
  receivedAt: Date
  done: number
  isChecked: boolean
  needsProof: boolean
  address: string | null
}

/** Stores raw events durably, in order. Bodies travel as one binary value to avoid JSON escaping. */
export async function storeEvents(db: Db, events: readonly NewEvent[]): Promise<number[]> {
  const bodies = joinBodies(events)
  const rows = events.map(({ lane, part, others, body, receivedAt, proof, needsProof, address }, index) => ({
    ...{ lane, part, others, first: bodies.firsts[index], length: body.length },
    receivedAt,
    signature: proof?.signature?.toString('hex'),
    secretMac: proof?.secretMac?.toString('hex'),
    isChecked: proof === null,
    needsProof: needsProof ?? false,
    address,
  }))
  const stored = await db<{ id: number }[]>`
    insert into inbound_events (lane, part, others, body, received_at, signature, secret_mac, is_checked, needs_proof, address)
    select
      event.lane, event.part, event.others, substring(input.bytes from event.first for event.length),
      coalesce(event.received_at, now()), decode(event.signature, 'hex'), decode(event.secret_mac, 'hex'),
      event.is_checked, event.needs_proof, event.address
    from (select ${bodies.bytes}::bytea as bytes) as input
    cross join ${placedRows(
      rows,
      {
        smallint: ['lane'],
        text: ['part', 'signature', 'secretMac', 'address'],
        'text[]': ['others'],
        integer: ['first', 'length'],
        timestamptz: ['receivedAt'],
        boolean: ['isChecked', 'needsProof'],
      },
      'event',
    )}
    order by event.place
    returning id
  `
  return stored.map(({ id }) => id)
}

/** Concatenates bodies, storing a shared body once, and returns the one-based offset for each event. */
export function joinBodies(events: readonly { body: Buffer }[]): { bytes: Buffer; firsts: number[] } {
  const bodies: Buffer[] = []
  let end = 1
  const firsts = events.map(({ body }) => {
    if (body !== bodies.at(-1)) {
      bodies.push(body)
      end += body.length
    }
    return end - body.length
  })
  const [only] = bodies
  return { bytes: bodies.length === 1 && only !== undefined ? only : Buffer.concat(bodies), firsts }
}

export type BusyLane = { lane: number; waiting: number }

/** Lists lanes with events, longest waiting first: one index lookup per lane, however many events. */
export function listBusyLanes(db: Db, lanes: readonly number[], limit: number): Promise<BusyLane[]> {
  // An array, because Postgres would replan each lookup for a series with unknown length.
  return db<BusyLane[]>`
    select lane.number as lane, held.waiting
    from unnest(${lanes as number[]}::smallint[]) as lane (number)
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

/**
 * Claims the oldest events in free lanes until the transaction ends. Bodies in `remembered` are not read again unless
 * their length differs: a database crash may reassign the id.
 */
export async function claimEvents(
  tx: Db,
  lanes: readonly number[],
  { limit, bytes }: { limit: number; bytes: number },
  remembered: ReadonlyMap<number, Buffer> = new Map(),
): Promise<StoredEvent[]> {
  // In base64, reading a 4 MiB body takes 9 ms on the request thread; bytea hex digits take 29 ms.
  const rows = await tx<(Omit<StoredEvent, 'body'> & { base64: string | null })[]>`
    select
      lane, event.id, part, others,
      case when known.id is null then encode(body, 'base64') end as base64,
      received_at, done, signature, secret_mac, is_checked, needs_proof, address
    from claim_events(${lanes as number[]}::smallint[], ${limit}, ${bytes}, true) as event
    left join unnest(
      ${[...remembered.keys()]}::bigint[], ${[...remembered.values()].map(({ length }) => length)}::integer[]
    ) as known (id, length) on (known.id, known.length) = (event.id, octet_length(event.body))
    order by event.id
  `
  return rows.map(({ base64, ...event }) => ({
    ...event,
    body: (base64 === null ? remembered.get(event.id) : undefined) ?? Buffer.from(base64 ?? '', 'base64'),
  }))
}

/** An event with items left from `done` on, possibly in another lane. */
export type LeftEvent = Pick<StoredEvent, 'id' | 'lane' | 'done'>

/** Deletes fully handled events and updates the others. If an event occurs twice in `left`, the last entry wins. */
export async function finishEvents(
  tx: Db,
  claimed: readonly StoredEvent[],
  left: readonly LeftEvent[],
): Promise<unknown> {
  const leftById = new Map(left.map((event) => [event.id, event]))
  const handled = claimed.filter(({ id }) => !leftById.has(id))
  const changed = claimed.flatMap(({ id, lane, done }) => {
    const rest = leftById.get(id)
    const isSame = rest === undefined || (rest.lane === lane && rest.done === done)
    return isSame ? [] : [{ lane, id, toLane: rest.lane, done: rest.done }]
  })
  return Promise.all([
    handled.length > 0 &&
      tx`
        delete from inbound_events event
        using unnest(
          ${handled.map(({ lane }) => lane)}::smallint[], ${handled.map(({ id }) => id)}::bigint[]
        ) as handled (lane, id)
        where (event.lane, event.id) = (handled.lane, handled.id)
      `,
    changed.length > 0 &&
      tx`
        update inbound_events event
        set lane = changed.to_lane, done = changed.done
        from ${inputRows(changed, { smallint: ['lane', 'toLane'], bigint: ['id'], integer: ['done'] }, 'changed')}
        where (event.lane, event.id) = (changed.lane, changed.id)
      `,
  ])
}

/** Moves a lane's oldest event to the end, unless another worker holds the lane. */
export async function requeueOldest(db: Pool, lane: number): Promise<void> {
  await db.begin(async (tx) => {
    for (const { id } of await claimEvents(tx, [lane], { limit: 1, bytes: 1 })) {
      await tx`update inbound_events set id = default where (lane, id) = (${lane}, ${id})`
    }
  })
}

type EventStats = { waiting: number; oldestSeconds: number }

/** Returns how many events wait and the oldest age; exact up to 10,000 events. */
async function readEventStats(db: Db): Promise<EventStats> {
  const [row] = await db<EventStats[]>`
    select
      count(*)::int as waiting,
      coalesce(extract(epoch from now() - min(received_at)), 0)::float8 as oldest_seconds
    from (select received_at from inbound_events limit 10000) as event
  `
  return row ?? { waiting: 0, oldestSeconds: 0 }
}

/** Number of lanes. A number's hash selects a lane; each lane has one worker at a time. */
export const LANE_COUNT = 64

/** Returns the matching isolated lane, where events can't delay other numbers. */
export const isolatedLane = (lane: number): number => (isIsolated(lane) ? lane : lane + LANE_COUNT)
export const isIsolated = (lane: number): boolean => lane >= LANE_COUNT

export const ALL_LANES: readonly number[] = Array.from({ length: 2 * LANE_COUNT }, (_, lane) => lane)

/** Registers gauges for the number and age of waiting events, read at each scrape. */
export function registerEventGauges(registry: Registry, db: Db): void {
  const gauge = (name: string, help: string, value: (stats: EventStats) => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      aggregator: 'max',
      async collect() {
        const stats = await readEventStats(db).catch(() => undefined)
        if (stats !== undefined) this.set(value(stats))
      },
    })
  gauge('parley_events_waiting', 'Events not handled yet; at most 10000 are counted', ({ waiting }) => waiting)
  gauge('parley_events_oldest_seconds', 'How long the oldest of them has waited', ({ oldestSeconds }) => oldestSeconds)
}
