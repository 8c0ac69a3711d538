import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import type { LiveChange } from '../live-change.ts'

/** Ids that one notice names at most, of one company and of all. */
const MAX_IDS = 500
const MAX_COMPANIES = 500
/** A notification takes less than 8,000 bytes. */
const MAX_BYTES = 7_500

const Ids = Type.Array(Type.Integer())
const Named = Type.Object({
  conversation: Type.Optional(Ids),
  message: Type.Optional(Ids),
  delivery: Type.Optional(Ids),
  import: Type.Optional(Ids),
  answering: Type.Optional(Type.Array(Type.Tuple([Type.Integer(), Type.String()]))),
})
/** The changes of one company; `all`: too many to be named. */
export type Changed = Static<typeof Named> | 'all'
const Notice = Type.Union([Type.Literal('all'), Type.Record(Type.String(), Type.Union([Type.Literal('all'), Named]))])

/** Changes of some companies; `all`: of any company anything may have changed. */
export type Changes = Map<number, Changed> | 'all'

export type Collector = {
  add(changes: readonly LiveChange[]): void
  /** The notice of what was added since the last one. */
  take(): string | undefined
  isEmpty(): boolean
}

/** Changes that are collected for the next notice: bounded, whatever is added. */
export function createCollector(): Collector {
  let companies = new Map<number, Collected | 'all'>()
  let isAll = false

  const add = (change: LiveChange): void => {
    if (isAll) return
    const known = companies.get(change.companyId)
    if (known === 'all') return
    if (known === undefined && companies.size >= MAX_COMPANIES) isAll = true
    else if (change.topic === 'all') companies.set(change.companyId, 'all')
    else {
      const collected = known ?? new Map<string, Map<number, string>>()
      companies.set(change.companyId, isFull(collected) ? 'all' : collected)
      const ids = collected.get(change.topic) ?? new Map<number, string>()
      collected.set(change.topic, ids)
      if (change.topic === 'answering') ids.set(change.chatId, change.name)
      else ids.set(change.id, '')
    }
  }
  return {
    add: (changes) => changes.forEach(add),
    isEmpty: () => companies.size === 0 && !isAll,
    take: () => {
      if (companies.size === 0 && !isAll) return undefined
      const text = isAll ? '"all"' : toText(companies)
      companies = new Map()
      isAll = false
      return text
    },
  }
}

type Collected = Map<string, Map<number, string>>

const countOf = (collected: Collected | 'all'): number =>
  collected === 'all' ? 0 : [...collected.values()].reduce((sum, ids) => sum + ids.size, 0)

const isFull = (collected: Collected): boolean => countOf(collected) >= MAX_IDS

/** As JSON. Changes that do not fit are reduced to their companies, then to `all`. */
function toText(companies: ReadonlyMap<number, Collected | 'all'>): string {
  const total = [...companies.values()].reduce((sum, one) => sum + countOf(one), 0)
  const full = total <= MAX_IDS ? JSON.stringify(Object.fromEntries([...companies].map(toMember))) : undefined
  if (full !== undefined && Buffer.byteLength(full) <= MAX_BYTES) return full
  const short = JSON.stringify(Object.fromEntries([...companies.keys()].map((id) => [id, 'all'])))
  return Buffer.byteLength(short) <= MAX_BYTES ? short : '"all"'
}

const toMember = ([companyId, collected]: [number, Collected | 'all']): [number, unknown] => [
  companyId,
  collected === 'all'
    ? collected
    : Object.fromEntries(
        [...collected].map(([topic, ids]) => [topic, topic === 'answering' ? [...ids] : [...ids.keys()]]),
      ),
]

/** Reads a notice; undefined when it is none. */
export function parseNotice(text: string): Changes | undefined {
  const notice: unknown = JSON.parse(text)
  if (!Value.Check(Notice, notice)) return undefined
  if (notice === 'all') return notice
  return new Map(Object.entries(notice).map(([companyId, changed]) => [Number(companyId), changed]))
}
