import { isRecord } from '../../platform/text/json-text.ts'
import type { InboundItem, JsonObject, Placed, Route } from '../events/event-item.ts'
import {
  EMPTY,
  type EventFormat,
  type GraphExtension,
  guarded,
  ID_LIMIT,
  ITEM_LIMIT,
  idAt,
  isDeeper,
  listAt,
  memberAt,
  NESTING_LIMIT,
  NOWHERE,
  objectAt,
  phoneAt,
  placeNowhere,
  secondsAt,
  TOO_DEEP,
  textAt,
  unreadable,
} from '../events/event-reader.ts'
import { findIds } from './find-ids.ts'
import { type GraphPosition, itemSlicer, type Slice } from './item-slice.ts'
import {
  readAccountEvent,
  readHandover,
  readNumberQuality,
  readPreference,
  readUserIdUpdate,
} from './items/account-item.ts'
import { readCall } from './items/call-item.ts'
import { customerFinder, readMessage } from './items/message-item.ts'
import { readStatus } from './items/status-item.ts'
import {
  readTemplateCategory,
  readTemplateComponents,
  readTemplateQuality,
  readTemplateStatus,
  type TemplateReader,
} from './items/template-item.ts'

/** Creates Meta's webhook format, `entry[].changes[].value`. `extensions` read additions by other providers. */
export function graphEvents(extensions: readonly GraphExtension[]): EventFormat {
  const extension = combine(extensions)
  return {
    readItems: (body, { text, deep, itemCount }) => {
      const entries = memberAt(body, 'entry')
      if (!Array.isArray(entries)) return undefined
      return readEntries({ body, deep, extension, slice: itemSlicer(text, itemCount) }, entries)
    },
    routeKeys,
    idsOf: (raw) => findIds(raw, extension.appNames),
    signatureOf: (headers) => {
      const signature = headers['x-hub-signature-256']
      const hex = /^sha256=([0-9a-f]{64})$/i.exec(typeof signature === 'string' ? signature : '')?.[1]
      return hex === undefined ? null : Buffer.from(hex, 'hex')
    },
  }
}

/** The first extension with a result wins. */
function combine(extensions: readonly GraphExtension[]): Extension {
  const first = <Value>(read: (extension: GraphExtension) => Value | null): Value | null =>
    extensions.map(read).find((value) => value !== null) ?? null
  return {
    appNames: extensions.flatMap(({ appNames }) => appNames),
    appIdOf: (body) => first(({ appIdName }) => idAt(body, appIdName, ID_LIMIT)),
    messageIdOf: (status) => first((one) => one.messageIdOf(status)),
    errorOf: (status) => first((one) => one.errorOf(status)),
  }
}

type Extension = Omit<GraphExtension, 'appIdName'> & { appIdOf(body: JsonObject): string | null }

const NUMBER_NAME = Buffer.from('"phone_number_id"')
const NUMBER_VALUE = /^\s*:\s*"([\w.:-]{1,128})"/
const VALUE_WINDOW = 160

function routeKeys(raw: Buffer, limit: number): ReadonlySet<string> {
  const numbers = new Set<string>()
  let read = 0
  for (let at = raw.indexOf(NUMBER_NAME); at !== -1 && numbers.size < limit; at = raw.indexOf(NUMBER_NAME, at)) {
    read += 1
    if (read > ITEM_LIMIT) break
    at += NUMBER_NAME.length
    const number = NUMBER_VALUE.exec(raw.toString('latin1', at, at + VALUE_WINDOW))?.[1]
    if (number !== undefined) numbers.add(number)
  }
  return numbers
}

type GraphBody = {
  body: JsonObject
  slice: Slice
  extension: Extension
  deep: Set<unknown> | undefined
}

type Change = GraphBody & {
  entry: JsonObject
  value: JsonObject
  field: string | null
  ids: Ids
  at: { entry: number; change: number }
  holder?: string
}

type Ids = { phoneNumberId: string | null; appId: string | null; wabaAccountId: string | null }

function* readEntries(open: GraphBody, entries: readonly unknown[]): Generator<InboundItem> {
  for (const [index, element] of entries.entries()) {
    const entry = isRecord(element) ? element : EMPTY
    const changes = listAt(entry, 'changes')
    for (const [number, change] of (changes.length === 0 ? [undefined] : changes).entries()) {
      yield* readChange({ ...open, entry, at: { entry: index, change: number } }, change)
    }
  }
}

function* readChange(opened: GraphBody & Pick<Change, 'entry' | 'at'>, element: unknown): Generator<InboundItem> {
  const content = isRecord(element) ? element : EMPTY
  const value = objectAt(content, 'value')
  const nameless: Change = { ...opened, value, field: textAt(content, 'field'), ids: NO_IDS }
  const ids = guarded(
    () => place(nameless),
    () => readIds(opened, nameless),
  )
  if (Array.isArray(ids)) {
    yield* ids
    return
  }
  const change = { ...nameless, ids }
  if (element === undefined) yield unreadable(place(change), 'an entry without changes')
  else if (isRecord(memberAt(content, 'value'))) yield* readItems(change)
  else yield unreadable(place(change), 'a change without a value')
}

const TEMPLATE_FIELDS = new Map<string, TemplateReader>([
  ['message_template_status_update', readTemplateStatus],
  ['message_template_quality_update', readTemplateQuality],
  ['template_category_update', readTemplateCategory],
  ['message_template_components_update', readTemplateComponents],
  ['phone_number_quality_update', readNumberQuality],
  ['messaging_handovers', readHandover],
])

/** Must go by field, not by members: `history` may also contain `messages`. */
function* readItems(change: Change): Generator<InboundItem> {
  const field = change.field ?? 'messages'
  const readWhole = TEMPLATE_FIELDS.get(field)
  if (readWhole) yield* readValue(change, readWhole)
  else if (field === 'messages') yield* readMessages(change, ['messages', 'statuses'])
  else if (field === 'standby') yield* readStandby(change)
  else if (field === 'calls' && memberAt(change.value, 'calls') !== undefined)
    yield* readMessages(change, ['calls', 'statuses'])
  else if (field === 'smb_message_echoes' || field === 'message_echoes') yield* readList(change, 'message_echoes')
  else if (field === 'user_preferences' || field === 'user_id_update') yield* readList(change, field)
  else if (HISTORY_FIELDS.has(field))
    yield { ...place(change), kind: 'ignored', reason: 'phone app history and contacts' }
  else yield* readValue(change, readAccountEvent)
}

/** In standby the provider's agent replies; its replies arrive as echoes, usually in `value.standby`. */
function* readStandby(change: Change): Generator<InboundItem> {
  const holder = 'standby'
  const isHeld = isRecord(memberAt(change.value, holder))
  yield* readMessages({ ...change, ...(isHeld && { holder }) }, ['messages', 'message_echoes', 'statuses'])
}

const listsOf = ({ value, holder }: Change): JsonObject => (holder === undefined ? value : objectAt(value, holder))

/** Phone history from before the number was connected: neither new messages nor account events. */
const HISTORY_FIELDS = new Set(['history', 'smb_app_state_sync'])

function readValue(change: Change, read: TemplateReader): Iterable<InboundItem> {
  const placed = place(change)
  return guarded(
    () => placed,
    () => [read(change.value, placed)],
  )
}

function* readMessages(change: Change, lists: readonly string[]): Generator<InboundItem> {
  const present = [...lists, 'errors'].filter((list) => (memberAt(listsOf(change), list) ?? null) !== null)
  for (const list of present) if (list !== 'errors') yield* readList(change, list)
  if (present.includes('errors')) yield* readValue({ ...change, field: 'errors' }, readAccountEvent)
  else if (present.length === 0) yield { ...place(change), kind: 'ignored', reason: `none of ${lists.join(', ')}` }
}

type ElementReader = (element: JsonObject, placed: Placer) => InboundItem[]
type Placer = (timestamp: number | null, contact: number | null) => Placed

function* readList(change: Change, list: string): Generator<InboundItem> {
  const elements = memberAt(listsOf(change), list)
  if (!Array.isArray(elements)) {
    yield unreadable(place(change), `${list} is not a list`)
    return
  }
  const read = readerOf(change, list, elements)
  for (const [index, element] of elements.entries()) {
    const placed: Placer = (timestamp, contact) => place(change, { list, index, timestamp, contact })
    if (isTooDeep(change, element)) yield unreadable(placeNowhere(placed(null, null)), TOO_DEEP)
    else if (isRecord(element))
      yield* guarded(
        () => placed(null, null),
        () => read(element, placed),
      )
    else yield unreadable(placed(null, null), 'not an object')
  }
}

const LEVELS_ABOVE_ELEMENT = 7

function isTooDeep({ deep, holder }: Change, element: unknown): boolean {
  const levels = NESTING_LIMIT - LEVELS_ABOVE_ELEMENT - (holder === undefined ? 0 : 1)
  if (deep === undefined || !isDeeper(element, levels)) return false
  deep.add(element)
  return true
}

function readerOf(change: Change, list: string, elements: readonly unknown[]): ElementReader {
  if (list === 'statuses')
    return (element, placed) => [readStatus(element, (timestamp) => placed(timestamp, null), change.extension)]
  const findCustomer = customerFinder(listAt(listsOf(change), 'contacts'), elements)
  if (list === 'user_preferences') return (element, placed) => [readPreference(element, placed, findCustomer)]
  if (list === 'user_id_update') return (element, placed) => [readUserIdUpdate(element, placed, findCustomer)]
  const businessPhone = phoneAt(objectAt(change.value, 'metadata'), 'display_phone_number')
  if (list === 'calls') return (element, placed) => [readCall(element, { placed, findCustomer, businessPhone })]
  const isEcho = list === 'message_echoes'
  return (element, placed) => readMessage(element, { placed, findCustomer, businessPhone, isEcho })
}

type InList = { list: string; index: number; timestamp: number | null; contact: number | null }

function place(change: Change, inList?: InList): Placed {
  const { at, field, entry, slice, holder } = change
  const list = inList?.list ?? null
  const position: GraphPosition = { ...at, ...(holder && list && { holder }), list, index: inList?.index ?? 0 }
  return {
    key: [at.entry, at.change, ...(inList ? [inList.list, inList.index] : [])].join('.'),
    position: { group: [at.entry, at.change, inList?.list].join('.'), index: position.index },
    field,
    route: routeOf(change.ids, inList?.list),
    timestamp: inList ? inList.timestamp : secondsAt(entry, 'time'),
    raw: (siblings = []) =>
      slice(
        [position, ...siblings.map((one) => ({ ...position, index: one.position.index }))],
        inList?.contact ?? null,
      ),
  }
}

const NO_IDS: Ids = { phoneNumberId: null, appId: null, wabaAccountId: null }

const readIds = ({ body, extension }: GraphBody, { entry, value, field }: Change): Ids => ({
  phoneNumberId: idAt(objectAt(value, 'metadata'), 'phone_number_id', ID_LIMIT),
  appId: extension.appIdOf(body),
  wabaAccountId: namedAccount(value, field) ?? idAt(entry, 'id', ID_LIMIT),
})

/** Partner events are sent to the partner's business, so use the account in `waba_info`. */
const namedAccount = (value: JsonObject, field: string | null): string | null =>
  field === 'account_update' ? idAt(objectAt(value, 'waba_info'), 'waba_id', ID_LIMIT) : null

const OF_ONE_NUMBER = new Set(['messages', 'message_echoes', 'calls'])

/** Never routes messages by account, which may have several numbers. */
function routeOf({ phoneNumberId, appId, wabaAccountId }: Ids, list: string | undefined): Route {
  if (phoneNumberId !== null) return { by: 'sender', phoneNumberId }
  if (list !== undefined && appId !== null) return { by: 'app', appId }
  if (wabaAccountId !== null && !(list !== undefined && OF_ONE_NUMBER.has(list)))
    return { by: 'account', wabaAccountId }
  return appId === null ? NOWHERE : { by: 'app', appId }
}
