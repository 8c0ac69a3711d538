import {
  isTextAt,
  type JsonVisitor,
  mayBeObject,
  numberAt,
  stringAt,
  walkJson,
} from '../../platform/text/json-bytes.ts'
import { cleanText, ID_LIMIT, ITEM_LIMIT } from '../events/event-reader.ts'

const MOST_IDS = 256
/** Valid bodies have at most two of these names per item. */
const MOST_READ = 4 * ITEM_LIMIT
/** An escape like `\u0041` takes six bytes. */
const LONGEST_ID = 6 * ID_LIMIT + 2
const LONGEST_NAME = 100

/** Nesting depths: `{"entry":[{"id":…,"changes":[{"value":{"metadata":{"phone_number_id":…}}}]}]}`. */
const [BODY, ENTRIES, ENTRY, CHANGES, CHANGE, VALUE, METADATA] = [1, 2, 3, 4, 5, 6, 7]

type Name = 'entry' | 'changes' | 'account' | 'value' | 'metadata' | 'number' | 'app'
type SearchedName = { name: Name; text: string; bytes: Buffer }
const searched = (name: Name, text: string): SearchedName => ({ name, text, bytes: Buffer.from(text) })
const NAMES: readonly (readonly SearchedName[])[] = [
  [],
  [searched('entry', 'entry')],
  [],
  [searched('changes', 'changes'), searched('account', 'id')],
  [],
  [searched('value', 'value')],
  [searched('metadata', 'metadata')],
  [searched('number', 'phone_number_id'), searched('account', 'waba_id')],
]

/**
 * Finds every sender id the parser can find, perhaps more, in one pass; undefined if too many. Skips accounts and apps
 * only if each change plainly contains its number.
 */
export function findIds(raw: Buffer, appNames: readonly string[]): ReadonlySet<string> | undefined {
  if (!mayBeObject(raw)) return new Set()
  const ids = { number: new Set<string>(), account: new Set<string>(), app: new Set<string>() }
  const names = NAMES.map((at, depth) =>
    depth === BODY ? [...at, ...appNames.map((one) => searched('app', one))] : at,
  )
  const shape = createShape()
  let opened = 0
  let read = 0
  const visitor: JsonVisitor = {
    levels: METADATA,
    opened: (depth, isArray) => {
      shape.opened(depth, isArray)
      if (depth === ENTRY || depth === CHANGE) opened += 1
      return opened <= MOST_READ
    },
    closed: shape.closed,
    named: (depth, start, end, hasEscape, value) => {
      const name = readName(names[depth] ?? [], raw, start, end, hasEscape)
      shape.named(depth, name, hasEscape)
      if (name === undefined && !hasEscape) return true
      read += 1
      if (name === 'number' || name === 'account' || name === 'app') {
        const found = idsAt(raw, value)
        if (found === undefined) return false
        for (const id of found) ids[name].add(id)
        if (name === 'number' && found.length > 0) shape.numbered()
      }
      return read <= MOST_READ && ids.number.size + ids.account.size + ids.app.size <= MOST_IDS
    },
  }
  if (!walkJson(raw, visitor)) return undefined
  return shape.isPlain() ? ids.number : new Set([...ids.number, ...ids.account, ...ids.app])
}

function createShape() {
  const last: (Name | undefined)[] = []
  const counts = { entry: 0, changes: 0, changesOfEntry: 0, value: 0, metadata: 0, number: 0, total: 0 }
  let isPlain = true
  const require = (isMet: boolean): void => {
    if (!isMet) isPlain = false
  }
  return {
    isPlain: () => isPlain && counts.entry === 1 && counts.total > 0,
    opened: (depth: number, isArray: boolean): void => {
      last[depth] = undefined
      if (depth < METADATA) require(isArray === (depth === ENTRIES || depth === CHANGES))
      if (depth === ENTRIES) require(last[BODY] === 'entry')
      else if (depth === ENTRY) Object.assign(counts, { changes: 0, changesOfEntry: 0 })
      else if (depth === CHANGES) require(last[ENTRY] === 'changes')
      else if (depth === CHANGE) Object.assign(counts, { value: 0, metadata: 0, number: 0 })
      else if (depth === VALUE) require(last[CHANGE] === 'value')
    },
    closed: (depth: number): void => {
      if (depth === CHANGE) {
        counts.changesOfEntry += 1
        counts.total += 1
        require(counts.value === 1 && counts.metadata === 1 && counts.number === 1)
      } else if (depth === ENTRY) require(counts.changes === 1 && counts.changesOfEntry > 0)
    },
    named: (depth: number, name: Name | undefined, hasEscape: boolean): void => {
      last[depth] = name
      require(!hasEscape)
      if (name === 'entry' || name === 'changes' || name === 'value' || name === 'metadata') counts[name] += 1
    },
    numbered: (): void => {
      if (last[VALUE] === 'metadata') counts.number += 1
    },
  }
}

function readName(names: readonly SearchedName[], raw: Buffer, start: number, end: number, hasEscape: boolean) {
  const text = hasEscape && names.length > 0 ? stringAt(raw, start, LONGEST_NAME) : undefined
  for (const one of names) if (hasEscape ? one.text === text : isTextAt(raw, start, end, one.bytes)) return one.name
  return undefined
}

/** Returns numbers both as digits and as a double, since the parser may read either. */
function idsAt(raw: Buffer, value: number): string[] | undefined {
  const text = stringAt(raw, value, LONGEST_ID)
  if (text !== undefined) return text === '' ? [] : [cleanText(text)]
  const digits = numberAt(raw, value)
  if (digits === undefined || digits === '') return digits === undefined ? undefined : []
  return [digits, String(Number(digits))]
}
