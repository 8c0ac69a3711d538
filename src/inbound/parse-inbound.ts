import { hasMoreLevels } from '../json-text.ts'
import { ID_LIMIT, ITEM_LIMIT, NESTING_LIMIT } from './bounds.ts'
import type { InboundItem, ParsedInbound, Placed } from './inbound-item.ts'
import { itemSlicer } from './item-slice.ts'
import { idAt, isDeeper, isObject, type JsonObject, memberAt, parseJson, secondsAt, textAt } from './json-member.ts'
import { type OpenBody, readEntry } from './parse-change.ts'
import { readGupshupTemplateEvent } from './template-item.ts'
import { guarded, NOWHERE, TOO_DEEP, unreadable } from './unreadable.ts'

/**
 * Splits what a provider posted into its items, in the order of the body (decisions: Provider-facing webhook). Each
 * stands alone: what cannot be read or is beyond the bounds of an item becomes an `unreadable-item`, and its siblings are
 * read all the same; what asks nothing of us becomes `ignored`. A body beyond the bounds of a body is unreadable as a
 * whole. Never throws, whatever the bytes.
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
  const deep = hasMoreLevels(text, NESTING_LIMIT) ? new Set<unknown>() : undefined
  const items: InboundItem[] = []
  for (const item of readBody(body, text, { deep, slice: itemSlicer(text, () => items.length) })) {
    if (items.length === ITEM_LIMIT) return { kind: 'unreadable', reason: `more than ${ITEM_LIMIT} items` }
    items.push(item)
  }
  if (deep !== undefined && isDeeper(body, NESTING_LIMIT, deep)) return { kind: 'unreadable', reason: TOO_DEEP }
  return { kind: 'items', items }
}

function* readBody(body: JsonObject, text: string, open: Omit<OpenBody, 'body'>): Generator<InboundItem> {
  const entries = memberAt(body, 'entry')
  if (Array.isArray(entries)) {
    for (const [index, entry] of entries.entries()) yield* readEntry({ ...open, body }, entry, index)
    return
  }
  yield* guarded(
    () => placeBody(text),
    () => [readWholeBody(body, text)],
  )
}

/** A body that is one item: Gupshup's own events and 360dialog's partner events. */
function readWholeBody(body: JsonObject, text: string): InboundItem {
  const name = textAt(body, 'event') ?? textAt(body, 'type')
  const gupshupAppId = idAt(body, 'gs_app_id', ID_LIMIT) ?? idAt(body, 'app', ID_LIMIT)
  const placed: Placed = {
    ...placeBody(text),
    field: name,
    route: gupshupAppId === null ? NOWHERE : { by: 'app', gupshupAppId },
    timestamp: secondsAt(body, 'timestamp'),
  }
  if (name === 'template-event') return readGupshupTemplateEvent(body, placed)
  if (textAt(body, 'version') === '2' && isObject(memberAt(body, 'payload'))) {
    return unreadable(placed, 'Gupshup version 2: subscribe with version=3')
  }
  return { ...placed, kind: 'ignored', reason: 'a body without entries' }
}

const placeBody = (text: string): Placed => ({
  key: 'body',
  position: { entry: 0, change: 0, list: null, index: 0 },
  field: null,
  route: NOWHERE,
  timestamp: null,
  raw: () => text,
})
