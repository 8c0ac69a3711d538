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
} from './raw-json.ts'

/** Where an item stands in its body: `list` names the array within `value`, null when the whole change is the item. */
export type Position = { entry: number; change: number; list: string | null; index: number }

/** The text of one item in its nesting; `contact` is the index of its own contact. */
export type Slice = (position: Position, contact: number | null) => string

/** What stands around one item is small; a body that says otherwise would be multiplied by its items. */
const SURROUNDINGS_LIMIT = 4096

/** A change, found once: the text around its value, and what is within. */
type Change = { head: string; tail: string; value: Span; members: Member[]; elements: Map<string, Span[]> }

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

/** A stretch on the way to the item, and the text around it. */
type Opening = { head: string; tail: string; span: Span }
type OpenedArray = { head: string; tail: string; elements: Span[] }

const openRoot = (text: string): OpenedArray => openArray(text, { head: '', tail: '', span: valueAt(text) }, 'entry')

const openEntry = (text: string, root: OpenedArray, index: number): OpenedArray =>
  openArray(text, { head: root.head, tail: root.tail, span: at(root.elements, index) }, 'changes')

function openChange(text: string, entry: OpenedArray, index: number): Change {
  const change = { head: entry.head, tail: entry.tail, span: at(entry.elements, index) }
  const { head, tail, span } = openMember(text, change, 'value') ?? change
  return { head, tail, value: span, members: membersIn(text, span), elements: new Map() }
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
  const parts = withinLimit(kept.map((member) => ({ start: member.span.start, text: textOf(text, member.span) })))
  const before = parts.filter((part) => part.start < way.span.start).map((part) => `${part.text},`)
  const after = parts.filter((part) => part.start > way.span.start).map((part) => `,${part.text}`)
  return {
    head: `${head}{${before.join('')}${text.slice(way.span.start, way.value.start)}`,
    tail: `${after.join('')}}${tail}`,
    span: way.value,
  }
}

const membersIn = (text: string, span: Span): Member[] => (isObjectText(text, span) ? membersOf(text, span) : [])

/** The value with its one item and that item's contact; of other arrays only `errors` belong to every item. */
function cutValue(text: string, change: Change, { list, index }: Position, contact: number | null): string {
  if (list === null) return textOf(text, change.value)
  const item = findMember(change.members, list)
  const contacts = findMember(change.members, 'contacts')
  const parts = change.members.flatMap((member) => {
    const start = member.span.start
    if (member === item) return { start, text: pick(text, change, member, index), own: true }
    if (member.name === list || (member.name === 'contacts' && member !== contacts)) return []
    if (!isArrayText(text, member.value) || member.name === 'errors') return { start, text: textOf(text, member.span) }
    return member === contacts ? { start, text: pick(text, change, member, contact) } : []
  })
  return `{${withinLimit(parts)
    .map((part) => part.text)
    .join(',')}}`
}

/** `"name":[the one element]`. */
function pick(text: string, change: Change, member: Member, index: number | null): string {
  const elements = remember(change.elements, member.name, () =>
    isArrayText(text, member.value) ? elementsOf(text, member.value) : [],
  )
  const element = index === null ? '' : textOf(text, at(elements, index))
  return `${text.slice(member.span.start, member.value.start)}[${element}]`
}

function withinLimit<Part extends { text: string; own?: boolean }>(parts: Part[]): Part[] {
  let size = 0
  return parts.filter((part) => {
    if (part.own) return true
    size += part.text.length
    return size <= SURROUNDINGS_LIMIT
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
