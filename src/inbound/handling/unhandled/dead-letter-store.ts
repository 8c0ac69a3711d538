import { type Db, sql } from '../../../db/connect.ts'
import { placedRows } from '../../../db/input-rows.ts'
import { joinBodies, type Proof, type StoredEvent } from '../../event-store.ts'

export type DeadLetterState = 'unroutable' | 'unverified' | 'failed' | 'unreadable'

/** An item that could not be routed or processed, with its JSON excerpt. */
export type DeadLetter = {
  state: DeadLetterState
  reason: string
  phoneNumberId: string | null
  wabaAccountId: string | null
  app: string | null
  body: Buffer
  receivedAt: Date
  eventId: number | null
}

export type DeadLetterRow = Omit<DeadLetter, 'eventId'> & { id: number; createdAt: Date; bodyBytes: number }

export type RequeuedItem = { body: Buffer; receivedAt: Date }

const REASON_LENGTH = 500

/** Stores dead letters in order. */
export async function storeDeadLetters(db: Db, items: readonly DeadLetter[]): Promise<void> {
  if (items.length === 0) return
  const bodies = joinBodies(items)
  const rows = items.map((item, index) => ({
    state: item.state,
    reason: item.reason.replaceAll('\0', '').slice(0, REASON_LENGTH).toWellFormed(),
    phoneNumberId: item.phoneNumberId,
    wabaAccountId: item.wabaAccountId,
    app: item.app,
    first: bodies.firsts[index],
    length: item.body.length,
    receivedAt: item.receivedAt,
    eventId: item.eventId,
  }))
  await db`
    insert into inbound_items (state, reason, phone_number_id, waba_account_id, app, body, received_at, event_id)
    select
      item.state, item.reason, item.phone_number_id, item.waba_account_id, item.app,
      substring(input.bytes from item.first for item.length), item.received_at, item.event_id
    from (select ${bodies.bytes}::bytea as bytes) as input
    cross join ${placedRows(
      rows,
      {
        text: ['state', 'reason', 'phoneNumberId', 'wabaAccountId', 'app'],
        integer: ['first', 'length'],
        timestamptz: ['receivedAt'],
        bigint: ['eventId'],
      },
      'item',
    )}
    order by item.place
  `
}

/** Returns an item with its whole body, if in one of these states. */
export async function findDeadLetter(
  db: Db,
  states: readonly DeadLetterState[],
  id: number,
): Promise<DeadLetterRow | undefined> {
  const rows = await db<DeadLetterRow[]>`
    select
      id, state, reason, phone_number_id, waba_account_id, app, received_at, created_at, body,
      octet_length(body) as body_bytes
    from inbound_items
    where id = ${id} and state = any(${states as DeadLetterState[]})
  `
  return rows[0]
}

/** Removes and returns a failed item. */
export async function removeFailed(db: Db, id: number): Promise<RequeuedItem | undefined> {
  const rows = await db<RequeuedItem[]>`
    delete from inbound_items where id = ${id} and state in ('failed', 'unreadable') returning body, received_at
  `
  return rows[0]
}

export type Waited = { phoneNumberId: string; wabaAccountId: string; appId: string | null; appName: string | null }

const waitsFor = ({ phoneNumberId, wabaAccountId, appId, appName }: Waited) => sql`(
  item.phone_number_id = ${phoneNumberId}
  or (item.phone_number_id is null and item.waba_account_id = ${wabaAccountId})
  or item.app = any(${[appId, appName].filter((app) => app !== null)}::text[])
)`

const isOneOf = (ids: readonly number[] | undefined) =>
  ids === undefined ? sql`` : sql`and item.id = any(${[...ids]}::bigint[])`

/** Removes unroutable items for a number, its account or app, and returns them, oldest first. */
export async function removeUnroutable(tx: Db, sender: Waited, only?: readonly number[]): Promise<RequeuedItem[]> {
  const rows = await tx<Numbered[]>`
    delete from inbound_items item
    where item.state ${only === undefined ? sql`= 'unroutable'` : sql`in ('unroutable', 'unverified')`} and ${waitsFor(sender)}
      ${isOneOf(only)}
    returning item.id, item.body, item.received_at
  `
  return inOrder(rows)
}

/** Removes items with proven events and returns them, oldest first. */
export async function removeVerified(
  tx: Db,
  sender: Waited,
  eventIds: readonly number[],
  only?: readonly number[],
): Promise<RequeuedItem[]> {
  const rows = await tx<Numbered[]>`
    delete from inbound_items item
    where item.event_id = any(${eventIds as number[]}::bigint[])
      and item.state in ('unroutable', 'unverified')
      and ${waitsFor(sender)} ${isOneOf(only)}
    returning item.id, item.body, item.received_at
  `
  return inOrder(rows)
}

/** Marks items still unroutable after a check as unverified. */
export async function markUnverified(tx: Db, sender: Waited, only?: readonly number[]): Promise<void> {
  await tx`
    update inbound_items item
    set state = 'unverified', reason = 'neither signature nor secret proves where it is from'
    where item.state = 'unroutable' and ${waitsFor(sender)} ${isOneOf(only)}
  `
}

const MOST_SENDERS = 100

/** Lists connected senders with waiting items; senders with secrets first, so that none is skipped. */
export function listAwaitedSenders(
  db: Db,
  only?: readonly number[],
): Promise<(Waited & { companyId: number; id: number })[]> {
  const state =
    only === undefined
      ? sql`item.state = 'unroutable'`
      : sql`item.state in ('unroutable', 'unverified') ${isOneOf(only)}`
  return db`
    select sender.company_id, sender.id, sender.phone_number_id, sender.waba_account_id, sender.app_id, sender.app_name
    from senders sender
    where (sender.company_id, sender.id) in (
      select route.company_id, route.sender_id
      from inbound_items item
      join sender_routes route on route.phone_number_id = item.phone_number_id
      where ${state}
      union
      select other.company_id, other.id
      from inbound_items item
      join senders other on other.waba_account_id = item.waba_account_id and other.deleted_at is null
      where ${state} and item.phone_number_id is null
      union
      select other.company_id, other.id
      from inbound_items item
      join senders other on (other.app_id = item.app or other.app_name = item.app) and other.deleted_at is null
      where ${state}
    )
    order by coalesce(sender.app_secret, sender.webhook_secret) is null, sender.company_id, sender.id
    limit ${MOST_SENDERS}
  `
}

type Numbered = RequeuedItem & { id: number }

const inOrder = (rows: readonly Numbered[]): RequeuedItem[] => rows.toSorted((one, other) => one.id - other.id)

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
