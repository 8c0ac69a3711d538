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
} from '../../platform/text/json-text.ts'

export type GraphPosition = { entry: number; change: number; holder?: string; list: string | null; index: number }

export type Slice = (positions: readonly [GraphPosition, ...GraphPosition[]], contact: number | null) => string

/** Characters around an item, per level; all items together must not exceed the body size. */
const CONTEXT_LIMIT = 4096
const CONTEXT_OF_ALL = 64 * 1024

type Change = { head: string; tail: string; value: Span; members: Member[]; frames: Map<string, Frame> }
type Frame = { parts: Part[]; items: Span[]; contacts: Span[] }
type Part = { start: number; text: string; fill?: 'item' | 'contact' }

/** Cuts items out of a valid JSON body (spec: Envelope, `raw`). Scans lazily, and nothing twice. */
export function itemSlicer(text: string, itemCount: () => number): Slice {
  const source = once(() => ({ text, limit: limitFor(text, itemCount()) }))
  const root = once(() => openRoot(source()))
  const entries = new Map<number, OpenedArray>()
  const changes = new Map<string, Change>()
  return (positions, contact) => {
    const [position] = positions
    const entry = remember(entries, position.entry, () => openEntry(source(), root(), position.entry))
    const { holder } = position
    const key = [position.entry, position.change, holder].join('.')
    const change = remember(changes, key, () => openChange(source(), entry, position.change, holder))
    return change.head + cutValue(source(), change, positions, contact) + change.tail
  }
}

type Source = { text: string; limit: number }

const limitFor = (text: string, items: number): number =>
  Math.min(CONTEXT_LIMIT, Math.floor(Math.max(CONTEXT_OF_ALL, text.length) / Math.max(items, 1)))

function cutValue(
  source: Source,
  change: Change,
  positions: readonly [GraphPosition, ...GraphPosition[]],
  contact: number | null,
): string {
  const [{ list }] = positions
  if (list === null) return textOf(source.text, change.value)
  const frame = remember(change.frames, list, () => frameValue(source, change, list))
  const indexes = [...new Set(positions.map(({ index }) => index))]
  return fillFrame(source, frame, indexes, contact)
}

type Opening = { head: string; tail: string; span: Span }
type OpenedArray = { head: string; tail: string; elements: Span[] }

const openRoot = (source: Source): OpenedArray =>
  openArray(source, { head: '', tail: '', span: valueAt(source.text) }, 'entry')

const openEntry = (source: Source, root: OpenedArray, index: number): OpenedArray =>
  openArray(source, { head: root.head, tail: root.tail, span: at(root.elements, index) }, 'changes')

function openChange(source: Source, entry: OpenedArray, index: number, holder: string | undefined): Change {
  const change = { head: entry.head, tail: entry.tail, span: at(entry.elements, index) }
  const value = openMember(source, change, 'value') ?? change
  // The adjacent metadata contains the number.
  const isBeside = (text: string, span: Span) => !isArrayText(text, span)
  const { head, tail, span } = (holder !== undefined && openMember(source, value, holder, isBeside)) || value
  return { head, tail, value: span, members: membersIn(source.text, span), frames: new Map() }
}

function openArray(source: Source, outer: Opening, name: string): OpenedArray {
  const { text } = source
  const inner = openMember(source, outer, name)
  const elements = inner && isArrayText(text, inner.span) ? elementsOf(text, inner.span) : []
  if (!inner || elements.length === 0) return { head: outer.head, tail: outer.tail, elements: [outer.span] }
  return { head: `${inner.head}[`, tail: `]${inner.tail}`, elements }
}

/** Keeps only scalar siblings by default: arrays and objects may describe other items. */
function openMember(
  { text, limit }: Source,
  { head, tail, span }: Opening,
  name: string,
  isKept: (text: string, span: Span) => boolean = isScalar,
): Opening | undefined {
  const members = membersIn(text, span)
  const way = findMember(members, name)
  if (way === undefined) return undefined
  const others = members.filter((member) => member.name !== name && isKept(text, member.value))
  const parts = withinLimit(
    others.map((member) => keep(text, member)),
    limit,
  )
  const before = parts.filter((part) => part.start < way.span.start).map((part) => `${part.text},`)
  const after = parts.filter((part) => part.start > way.span.start).map((part) => `,${part.text}`)
  return {
    head: `${head}{${before.join('')}${text.slice(way.span.start, way.value.start)}`,
    tail: `${after.join('')}}${tail}`,
    span: way.value,
  }
}

const membersIn = (text: string, span: Span): Member[] => (isObjectText(text, span) ? membersOf(text, span) : [])

/** Only `errors` apply to every item; other arrays are siblings. */
function frameValue({ text, limit }: Source, change: Change, list: string): Frame {
  const item = findMember(change.members, list)
  const contacts = findMember(change.members, 'contacts')
  const parts = change.members.flatMap((member): Part | [] => {
    if (member === item) return { start: member.span.start, text: nameOf(text, member), fill: 'item' }
    if (member.name === list || (member.name === 'contacts' && member !== contacts)) return []
    if (!isArrayText(text, member.value) || member.name === 'errors') return keep(text, member)
    return member === contacts ? { start: member.span.start, text: nameOf(text, member), fill: 'contact' } : []
  })
  return {
    parts: withinLimit(parts, limit),
    items: elementsIn(text, item),
    contacts: elementsIn(text, contacts),
  }
}

function fillFrame(
  { text, limit }: Source,
  { parts, items, contacts }: Frame,
  indexes: readonly number[],
  contact: number | null,
): string {
  const own = contacts.filter((_, index) => index === contact || indexes.length > 1)
  const areSmall = indexes.length > 1 || own.every((span) => span.end - span.start <= limit)
  const listOf = (spans: readonly Span[]) => `[${spans.map((span) => textOf(text, span)).join(',')}]`
  const fills = {
    item: () => listOf(indexes.map((index) => at(items, index))),
    contact: () => listOf(areSmall ? own : []),
  }
  return `{${parts.map((part) => (part.fill ? part.text + fills[part.fill]() : part.text)).join(',')}}`
}

const keep = (text: string, member: Member): Part => ({ start: member.span.start, text: textOf(text, member.span) })
const nameOf = (text: string, member: Member): string => text.slice(member.span.start, member.value.start)

const elementsIn = (text: string, member: Member | undefined): Span[] =>
  member && isArrayText(text, member.value) ? elementsOf(text, member.value) : []

function withinLimit(parts: Part[], limit: number): Part[] {
  let size = 0
  return parts.filter((part) => {
    if (part.fill !== 'item') size += part.text.length
    return part.fill === 'item' || size <= limit
  })
}

const isScalar = (text: string, span: Span): boolean => !isArrayText(text, span) && !isObjectText(text, span)

function at(elements: readonly Span[], index: number): Span {
  const element = elements[index]
  if (element === undefined) throw new RangeError(`there is no element ${index}`)
  return element
}

function remember<Key, Value>(found: Map<Key, Value>, key: Key, find: () => Value): Value {
  const value = found.get(key) ?? find()
  found.set(key, value)
  return value
}

function once<Value>(make: () => Value): () => Value {
  let result: { value: Value } | undefined
  return () => {
    result ??= { value: make() }
    return result.value
  }
}
