import {
  elementsOf,
  findMember,
  isArrayText,
  isObjectText,
  type Member,
  membersOf,
  type Span,
  textOf,
  valueAt,
} from '../json-text.ts'

/** Where an item stands in its body: `list` names the array within `value`, null when the whole change is the item. */
export type Position = { entry: number; change: number; list: string | null; index: number }

/** The text of one item in its nesting; `contact` is the index of its own contact. */
export type Slice = (position: Position, contact: number | null) => string

/** What stands around one item is small; a body that says otherwise would be multiplied by its items. */
const SURROUNDINGS_LIMIT = 4096

/** A change, found once: the text around its value, and what is within. */
type Change = { head: string; tail: string; value: Span; members: Member[]; frames: Map<string, Frame> }
type Frame = { parts: Part[]; items: Span[]; contacts: Span[] }
type Part = { start: number; text: string; fill?: 'item' | 'contact' }

/**
 * Cuts single items out of the text of one body (spec: Envelope, `raw`): the provider's nesting with every sibling left
 * out, what is kept being the provider's own text. Nothing is scanned before the first call, and nothing twice.
 * The text must be JSON that `JSON.parse` accepts.
 */
export function itemSlicer(text: string): Slice {
  const root = once(() => openRoot(text))
  const entries = new Map<number, OpenedArray>()
  const changes = new Map<string, Change>()
  return (position, contact) => {
    const entry = remember(entries, position.entry, () => openEntry(text, root(), position.entry))
    const key = `${position.entry}.${position.change}`
    const change = remember(changes, key, () => openChange(text, entry, position.change))
    return change.head + cutValue(text, change, position, contact) + change.tail
  }
}

function cutValue(text: string, change: Change, { list, index }: Position, contact: number | null): string {
  if (list === null) return textOf(text, change.value)
  const frame = remember(change.frames, list, () => frameValue(text, change, list))
  return fillFrame(text, frame, index, contact)
}

/** A stretch on the way to the item, and the text around it. */
type Opening = { head: string; tail: string; span: Span }
type OpenedArray = { head: string; tail: string; elements: Span[] }

const openRoot = (text: string): OpenedArray => openArray(text, { head: '', tail: '', span: valueAt(text) }, 'entry')

const openEntry = (text: string, root: OpenedArray, index: number): OpenedArray =>
  openArray(text, { head: root.head, tail: root.tail, span: at(root.elements, index) }, 'changes')

function openChange(text: string, entry: OpenedArray, index: number): Change {
  const change = { head: entry.head, tail: entry.tail, span: at(entry.elements, index) }
  const { head, tail, span } = openMember(text, change, 'value') ?? change
  return { head, tail, value: span, members: membersIn(text, span), frames: new Map() }
}

/** Where there is no such array, the whole is handed on as if it were its only element. */
function openArray(text: string, outer: Opening, name: string): OpenedArray {
  const inner = openMember(text, outer, name)
  const elements = inner && isArrayText(text, inner.span) ? elementsOf(text, inner.span) : []
  if (!inner || elements.length === 0) return { head: outer.head, tail: outer.tail, elements: [outer.span] }
  return { head: `${inner.head}[`, tail: `]${inner.tail}`, elements }
}

/** Steps into a member. Beside it only scalars stay: an array or object there may speak of other items. */
function openMember(text: string, { head, tail, span }: Opening, name: string): Opening | undefined {
  const members = membersIn(text, span)
  const way = findMember(members, name)
  if (way === undefined) return undefined
  const kept = members.filter((member) => member.name !== name && isScalar(text, member.value))
  const parts = withinLimit(kept.map((member) => keep(text, member)))
  const before = parts.filter((part) => part.start < way.span.start).map((part) => `${part.text},`)
  const after = parts.filter((part) => part.start > way.span.start).map((part) => `,${part.text}`)
  return {
    head: `${head}{${before.join('')}${text.slice(way.span.start, way.value.start)}`,
    tail: `${after.join('')}}${tail}`,
    span: way.value,
  }
}

const membersIn = (text: string, span: Span): Member[] => (isObjectText(text, span) ? membersOf(text, span) : [])

/**
 * What stays of a value around one item of a list: text, and two places to fill. Of other arrays only `errors` belong to every
 * item; the rest are siblings.
 */
function frameValue(text: string, change: Change, list: string): Frame {
  const item = findMember(change.members, list)
  const contacts = findMember(change.members, 'contacts')
  const parts = change.members.flatMap((member): Part | [] => {
    if (member === item) return { start: member.span.start, text: nameOf(text, member), fill: 'item' }
    if (member.name === list || (member.name === 'contacts' && member !== contacts)) return []
    if (!isArrayText(text, member.value) || member.name === 'errors') return keep(text, member)
    return member === contacts ? { start: member.span.start, text: nameOf(text, member), fill: 'contact' } : []
  })
  return {
    parts: withinLimit(parts),
    items: elementsIn(text, item),
    contacts: elementsIn(text, contacts),
  }
}

function fillFrame(text: string, { parts, items, contacts }: Frame, index: number, contact: number | null): string {
  const own = contact === null ? undefined : contacts[contact]
  const fills = {
    item: () => `[${textOf(text, at(items, index))}]`,
    contact: () => (own && own.end - own.start <= SURROUNDINGS_LIMIT ? `[${textOf(text, own)}]` : '[]'),
  }
  return `{${parts.map((part) => (part.fill ? part.text + fills[part.fill]() : part.text)).join(',')}}`
}

const keep = (text: string, member: Member): Part => ({ start: member.span.start, text: textOf(text, member.span) })
const nameOf = (text: string, member: Member): string => text.slice(member.span.start, member.value.start)

const elementsIn = (text: string, member: Member | undefined): Span[] =>
  member && isArrayText(text, member.value) ? elementsOf(text, member.value) : []

/** The first parts that fit; the item itself is no part of its surroundings. */
function withinLimit(parts: Part[]): Part[] {
  let size = 0
  return parts.filter((part) => {
    if (part.fill !== 'item') size += part.text.length
    return part.fill === 'item' || size <= SURROUNDINGS_LIMIT
  })
}

const isScalar = (text: string, span: Span): boolean => !isArrayText(text, span) && !isObjectText(text, span)

function at(elements: readonly Span[], index: number): Span {
  const element = elements[index]
  if (element === undefined) throw new RangeError(`there is no element ${index}`)
  return element
}

function remember<Key, Value>(known: Map<Key, Value>, key: Key, find: () => Value): Value {
  const value = known.get(key) ?? find()
  known.set(key, value)
  return value
}

function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
