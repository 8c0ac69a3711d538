import type { Db } from '../../../db/connect.ts'
import { areValuesRefused } from '../../../db/pool/failure.ts'
import type { InboundItem, Route } from '../../../providers/events/event-item.ts'
import type { StoredEvent } from '../../event-store.ts'
import { countUnhandled, type UnhandledCount } from '../../ingest/admission.ts'
import type { BodyReader } from '../body-reader.ts'
import { NO_CUSTOMER } from '../handle-items.ts'
import { type DeadLetter, type DeadLetterState, storeBodies, storeDeadLetters } from './dead-letter-store.ts'

export type Unhandled = {
  event: StoredEvent
  item: InboundItem | null
  index: number
  state: DeadLetterState
  reason: string
}

/** Items per body stored separately; further ones are stored per list. */
const ALONE = 100
const STATEMENT_BYTES = 4 * 1024 * 1024

/** Stores unhandled items and counts unroutable ones. Must run last in the transaction. */
export async function storeUnhandled(
  tx: Db,
  reader: Pick<BodyReader, 'cut'>,
  unhandled: readonly Unhandled[],
): Promise<void> {
  await storeBodies(tx, [...new Set(unhandled.filter(needsBody).map(({ event }) => event))])
  const counts = new Map<number, UnhandledCount>()
  let batch: DeadLetter[] = []
  let bytes = 0
  const groups = [...Map.groupBy(unhandled, groupOf).values()]
  const texts = await readTexts(reader, groups)
  for (const group of groups) {
    const row = toRow(group, texts.get(group))
    count(counts, group, row)
    if (batch.length > 0 && bytes + row.body.length > STATEMENT_BYTES) {
      await keep(tx, batch)
      batch = []
      bytes = 0
    }
    batch.push(row)
    bytes += row.body.length
  }
  await keep(tx, batch)
  await countUnhandled(tx, [...counts.values()])
}

/** Counts up to the body size. Excludes requeued items and failures at a connected number. */
function count(counts: Map<number, UnhandledCount>, group: readonly Unhandled[], row: DeadLetter): void {
  const event = group[0]?.event
  if (event === undefined || event.address === null || row.state === 'failed') return
  const before = counts.get(event.id)
  const bytes = Math.min((before?.bytes ?? 0) + row.body.length, event.body.length)
  counts.set(event.id, { address: event.address, bytes, items: (before?.items ?? 0) + group.length })
}

/** Summarizes unhandled items for a single log line. */
export function describeUnhandled(unhandled: readonly Unhandled[]): object {
  const states = Map.groupBy(unhandled, ({ state }) => state)
  const counts = [...states].map(([state, items]) => [state, items.length])
  return { ...Object.fromEntries(counts), reason: unhandled[0]?.reason }
}

/** If Postgres rejects a row, keeps it without ids. */
async function keep(tx: Db, rows: readonly DeadLetter[]): Promise<void> {
  if (rows.length === 0) return
  try {
    await savepoint(tx, (inner) => storeDeadLetters(inner, rows))
  } catch (error) {
    if (!areValuesRefused(error)) throw error
    const [only] = rows
    if (rows.length > 1) for (const row of rows) await keep(tx, [row])
    else if (only !== undefined) await storeDeadLetters(tx, [withoutIds(only)])
  }
}

const withoutIds = (row: DeadLetter): DeadLetter => ({
  ...row,
  reason: 'it could not be kept with its ids',
  phoneNumberId: null,
  wabaAccountId: null,
  app: null,
})

function groupOf({ event, item, index, state, reason }: Unhandled): string {
  if (item === null || index < ALONE) return `${event.id} ${index} ${item?.key}`
  return JSON.stringify([event.id, state, reason, item.position.group, idOf(item.route)])
}

const idOf = (route: Route): string | null => {
  if (route.by === 'sender') return route.phoneNumberId
  if (route.by === 'account') return route.wabaAccountId
  return route.by === 'app' ? route.appId : null
}

type Group = readonly Unhandled[]

async function readTexts(reader: Pick<BodyReader, 'cut'>, groups: readonly Group[]): Promise<Map<Group, Buffer>> {
  const texts = new Map<Group, Buffer>()
  for (const [event, ofEvent] of Map.groupBy(groups, ([first]) => first?.event)) {
    const cut = ofEvent.filter(([first]) => first?.item)
    if (event === undefined || cut.length === 0) continue
    const items = cut.map((group) => group.flatMap(({ item }) => item ?? []))
    const found = await reader.cut(event, items)
    for (const [place, group] of cut.entries()) {
      const text = found[place]
      if (text !== undefined) texts.set(group, text)
    }
  }
  return texts
}

function toRow([first]: Group, text: Buffer | undefined): DeadLetter {
  if (first === undefined) throw new Error('A group must have an item')
  const { event, item, state, reason } = first
  const route = item?.route
  return {
    state,
    reason,
    phoneNumberId: route?.by === 'sender' ? route.phoneNumberId : null,
    wabaAccountId: route?.by === 'account' ? route.wabaAccountId : null,
    app: route?.by === 'app' ? route.appId : null,
    body: text ?? event.body,
    receivedAt: event.receivedAt,
    eventId: needsBody(first) ? event.id : null,
  }
}

/** The whole body is needed to prove items later. Requeued items have none. */
const needsBody = ({ event, state }: Unhandled): boolean =>
  (state === 'unroutable' || state === 'unverified') && !event.isChecked

export const UNHANDLED_REASONS = ['no_number', 'not_proven', 'unreadable', 'no_customer', 'error'] as const
type UnhandledReason = (typeof UNHANDLED_REASONS)[number]

/** Maps a reason to a fixed label set, whatever strangers post. */
export function unhandledReasonOf({ state, reason }: Pick<Unhandled, 'state' | 'reason'>): UnhandledReason {
  if (state === 'unroutable') return 'no_number'
  if (state === 'unverified') return 'not_proven'
  if (state === 'unreadable') return 'unreadable'
  return reason === NO_CUSTOMER ? 'no_customer' : 'error'
}

/** Runs statements whose failure must not abort the transaction. */
export async function savepoint<T>(tx: Db, run: (inner: Db) => Promise<T>): Promise<T> {
  if (!('savepoint' in tx)) throw new Error('A savepoint needs a transaction')
  return tx.savepoint(run) as Promise<T>
}
