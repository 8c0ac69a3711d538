import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import type { LiveChange } from '../changes/live-change.ts'

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
  contact: Type.Optional(Ids),
  scheduled: Type.Optional(Ids),
  /** Empty: more has changed than is named. */
  all: Type.Optional(Ids),
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
    const existing = companies.get(change.companyId)
    if (existing === 'all') return
    if (existing === undefined && companies.size >= MAX_COMPANIES) isAll = true
    else {
      const collected = existing ?? new Map<string, Map<number, string>>()
      companies.set(change.companyId, isFull(collected) ? 'all' : collected)
      const ids = collected.get(change.topic) ?? new Map<number, string>()
      collected.set(change.topic, ids)
      if (change.topic === 'answering') ids.set(change.chatId, change.name)
      else if (change.topic !== 'all') ids.set(change.id, '')
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

/** As JSON. While changes do not fit, those of the company that has most become `all`; in the end all companies do. */
function toText(companies: ReadonlyMap<number, Collected | 'all'>): string {
  const members = [...companies].map(toMember).toSorted((one, other) => other.count - one.count)
  let count = members.reduce((sum, member) => sum + member.count, 0)
  let bytes = members.reduce((sum, member) => sum + bytesOf(member.text), 0)
  const texts = members.map((member) => {
    if (count <= MAX_IDS && bytes <= MAX_BYTES) return member.text
    const short = `"${member.companyId}":"all"`
    count -= member.count
    bytes -= bytesOf(member.text) - bytesOf(short)
    return short
  })
  return bytes <= MAX_BYTES ? `{${texts.join()}}` : '"all"'
}

/** Of a member and its comma. */
const bytesOf = (text: string): number => Buffer.byteLength(text) + 1

function toMember([companyId, collected]: [number, Collected | 'all']) {
  const named =
    collected === 'all'
      ? collected
      : Object.fromEntries(
          [...collected].map(([topic, ids]) => [topic, topic === 'answering' ? [...ids] : [...ids.keys()]]),
        )
  return { companyId, count: countOf(collected), text: `"${companyId}":${JSON.stringify(named)}` }
}

/** Reads a notice. One that cannot be read, such as that of a later version, stands for any change. */
export function parseNotice(text: string): Changes {
  const notice = parseJson(text)
  if (!Value.Check(Notice, notice)) return 'all'
  if (notice === 'all') return notice
  return new Map(Object.entries(notice).map(([companyId, changed]) => [Number(companyId), changed]))
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
