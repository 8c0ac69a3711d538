import { readNumberQuality, readPreference, readUserIdUpdate } from './account-item.ts'
import { customerFinder } from './customer.ts'
import type { InboundItem, ParsedInbound, Placed, Route } from './inbound-item.ts'
import { itemSlicer, type Position } from './item-slice.ts'
import {
  EMPTY,
  isObject,
  type JsonObject,
  listAt,
  memberAt,
  objectAt,
  parseJson,
  phoneAt,
  secondsAt,
  textAt,
} from './json-member.ts'
import { readMessage } from './message-item.ts'
import { readStatus } from './status-item.ts'
import {
  readGupshupTemplateStatus,
  readTemplateCategory,
  readTemplateComponents,
  readTemplateQuality,
  readTemplateStatus,
  type TemplateReader,
} from './template-item.ts'

/** More than the provider's largest body can hold; only a hostile one does. */
const ITEM_LIMIT = 40_000

/**
 * Splits what a provider posted into its items, in the order of the body (decisions: Provider-facing webhook). Each
 * stands alone: what cannot be read becomes an `unreadable-item` and its siblings are read all the same; what asks
 * nothing of us becomes `ignored`. Never throws, whatever the bytes.
 */
export function parseInbound(raw: Buffer | string): ParsedInbound {
  let text: string
  let body: unknown
  try {
    text = (typeof raw === 'string' ? raw : raw.toString('utf8')).replace(/^\uFEFF/, '')
    body = parseJson(text)
  } catch {
    return { kind: 'unreadable', reason: 'the body is not JSON' }
  }
  if (!isObject(body)) return { kind: 'unreadable', reason: 'the body is not a JSON object' }
  return { kind: 'items', items: collect(readBody(body, text), text) }
}

function collect(found: Iterable<InboundItem>, text: string): InboundItem[] {
  const items: InboundItem[] = []
  for (const item of found) {
    if (items.length === ITEM_LIMIT) {
      const placed = placeBody(EMPTY, text, null)
      items.push({ ...placed, kind: 'unreadable-item', reason: `it is the first after ${ITEM_LIMIT} items` })
      break
    }
    items.push(item)
  }
  return items
}

function* readBody(body: JsonObject, text: string): Generator<InboundItem> {
  const entries = memberAt(body, 'entry')
  if (Array.isArray(entries)) {
    const slice = itemSlicer(text)
    for (const [index, entry] of entries.entries()) yield* readEntry(body, entry, index, slice)
    return
  }
  const name = textAt(body, 'event') ?? textAt(body, 'type')
  const placed = placeBody(body, text, name)
  if (name === 'template-event')
    yield* guarded(
      () => placed,
      () => [readGupshupTemplateStatus(body, placed)],
    )
  else yield { ...placed, kind: 'ignored', reason: 'a body without entries' }
}

/** A body that is one item: Gupshup's own events and 360dialog's partner events. */
function placeBody(body: JsonObject, text: string, field: string | null): Placed {
  const gupshupAppId = textAt(body, 'gs_app_id') ?? textAt(body, 'app')
  return {
    key: 'body',
    position: { entry: 0, change: 0, list: null, index: 0 },
    field,
    route: gupshupAppId === null ? { by: 'nothing' } : { by: 'app', gupshupAppId },
    timestamp: secondsAt(body, 'timestamp'),
    raw: () => text,
  }
}

/** What all items of one change share. */
type Change = {
  body: JsonObject
  entry: JsonObject
  value: JsonObject
  field: string | null
  slice: ReturnType<typeof itemSlicer>
  at: { entry: number; change: number }
}

function* readEntry(body: JsonObject, entry: unknown, index: number, slice: Change['slice']): Generator<InboundItem> {
  const changes = isObject(entry) ? listAt(entry, 'changes') : []
  if (!isObject(entry) || changes.length === 0) {
    const change = { body, entry: isObject(entry) ? entry : EMPTY, value: EMPTY, field: null, slice }
    yield unreadable(place({ ...change, at: { entry: index, change: 0 } }), 'an entry without changes')
    return
  }
  for (const [number, change] of changes.entries()) {
    const known = isObject(change) ? change : EMPTY
    const field = textAt(known, 'field')
    const value = objectAt(known, 'value')
    const whole: Change = { body, entry, value, field, slice, at: { entry: index, change: number } }
    if (isObject(memberAt(known, 'value'))) yield* readChange(whole)
    else yield unreadable(place(whole), 'a change without a value')
  }
}

const TEMPLATE_FIELDS = new Map<string, TemplateReader>([
  ['message_template_status_update', readTemplateStatus],
  ['message_template_quality_update', readTemplateQuality],
  ['template_category_update', readTemplateCategory],
  ['message_template_components_update', readTemplateComponents],
  ['phone_number_quality_update', readNumberQuality],
])

/** The field decides the meaning, never the members that happen to be there: `history` too may carry `messages`. */
function* readChange(change: Change): Generator<InboundItem> {
  const field = change.field ?? 'messages'
  const readWhole = TEMPLATE_FIELDS.get(field)
  if (readWhole) {
    const placed = place(change)
    yield* guarded(
      () => placed,
      () => [readWhole(change.value, placed)],
    )
  } else if (field === 'messages') yield* readMessages(change)
  else if (field === 'smb_message_echoes' || field === 'message_echoes') yield* readList(change, 'message_echoes')
  else if (field === 'user_preferences' || field === 'user_id_update') yield* readList(change, field)
  else yield { ...place(change), kind: 'ignored', reason: 'a field that asks nothing of us' }
}

function* readMessages(change: Change): Generator<InboundItem> {
  const { value } = change
  const isPresent = (list: string) => (memberAt(value, list) ?? null) !== null
  for (const list of ['messages', 'statuses']) if (isPresent(list)) yield* readList(change, list)
  if (isPresent('errors')) yield { ...place(change), kind: 'ignored', reason: 'errors of the account' }
  else if (!isPresent('messages') && !isPresent('statuses')) {
    yield { ...place(change), kind: 'ignored', reason: 'neither messages nor statuses' }
  }
}

/** Reads one element: the place of its item still lacks the time and the contact, which only the reader knows. */
type ElementReader = (element: JsonObject, placed: Placer) => InboundItem[]
type Placer = (timestamp: number | null, contact: number | null) => Placed

function* readList(change: Change, list: string): Generator<InboundItem> {
  const elements = memberAt(change.value, list)
  if (!Array.isArray(elements)) {
    yield unreadable(place(change), `${list} is not a list`)
    return
  }
  const read = readerOf(change, list, elements)
  for (const [index, element] of elements.entries()) {
    const placed: Placer = (timestamp, contact) => place(change, { list, index, timestamp, contact })
    if (isObject(element))
      yield* guarded(
        () => placed(null, null),
        () => read(element, placed),
      )
    else yield unreadable(placed(null, null), 'not an object')
  }
}

function readerOf(change: Change, list: string, elements: readonly unknown[]): ElementReader {
  if (list === 'statuses') return (element, placed) => [readStatus(element, (timestamp) => placed(timestamp, null))]
  const findCustomer = customerFinder(listAt(change.value, 'contacts'), elements)
  if (list === 'user_preferences') return (element, placed) => [readPreference(element, placed, findCustomer)]
  if (list === 'user_id_update') return (element, placed) => [readUserIdUpdate(element, placed, findCustomer)]
  const businessPhone = phoneAt(objectAt(change.value, 'metadata'), 'display_phone_number')
  const isEcho = list === 'message_echoes'
  return (element, placed) => readMessage(element, { placed, findCustomer, businessPhone, isEcho })
}

type InList = { list: string; index: number; timestamp: number | null; contact: number | null }

function place(change: Change, inList?: InList): Placed {
  const { at, field, entry, slice } = change
  const position: Position = { ...at, list: inList?.list ?? null, index: inList?.index ?? 0 }
  return {
    key: [at.entry, at.change, ...(inList ? [inList.list, inList.index] : [])].join('.'),
    position,
    field,
    route: routeOf(change, inList?.list),
    timestamp: inList ? inList.timestamp : secondsAt(entry, 'time'),
    raw: () => slice(position, inList?.contact ?? null),
  }
}

/**
 * By the number where the event names one. Without it Gupshup's app decides, and the business account for all but
 * messages: an account may have several numbers, and a message belongs to one.
 */
function routeOf({ body, entry, value }: Change, list: string | undefined): Route {
  const phoneNumberId = textAt(objectAt(value, 'metadata'), 'phone_number_id')
  if (phoneNumberId !== null) return { by: 'sender', phoneNumberId }
  const gupshupAppId = textAt(body, 'gs_app_id')
  const wabaAccountId = textAt(entry, 'id')
  if (list !== undefined && gupshupAppId !== null) return { by: 'app', gupshupAppId }
  if (wabaAccountId !== null && list !== 'messages' && list !== 'message_echoes')
    return { by: 'account', wabaAccountId }
  return gupshupAppId === null ? { by: 'nothing' } : { by: 'app', gupshupAppId }
}

function guarded(placed: () => Placed, read: () => InboundItem[]): InboundItem[] {
  try {
    return read()
  } catch {
    return [unreadable(placed(), 'its members could not be read')]
  }
}

const unreadable = (placed: Placed, reason: string): InboundItem => ({ ...placed, kind: 'unreadable-item', reason })
