import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import type { LiveChange, Publish } from '../changes/live-change.ts'
import type { Db } from '../db/connect.ts'

export const LIVE_CHANNEL = 'parley_live'
const TICK_MS = 100
const MAX_IDS = 500
const MAX_COMPANIES = 500
/** Postgres limits a payload to less than 8,000 bytes. */
const MAX_BYTES = 7_500

const Ids = Type.Array(Type.Integer())
const Named = Type.Object({
  conversation: Type.Optional(Ids),
  message: Type.Optional(Ids),
  delivery: Type.Optional(Ids),
  import: Type.Optional(Ids),
  contact: Type.Optional(Ids),
  scheduled: Type.Optional(Ids),
  /** Always empty; marks changes beyond the listed ids. */
  all: Type.Optional(Ids),
  answering: Type.Optional(Type.Array(Type.Tuple([Type.Integer(), Type.String()]))),
})
export type Changed = Static<typeof Named> | 'all'
const Notice = Type.Union([Type.Literal('all'), Type.Record(Type.String(), Type.Union([Type.Literal('all'), Named]))])

/** `all`: anything may have changed in any company. */
export type Changes = Map<number, Changed> | 'all'

/** Sends at most one notice per tick, outside any transaction. Lost notices are fine: clients must read again after gaps. */
export function createPublish(db: Db, onLost: (error: unknown) => void): Publish {
  const collector = createCollector()
  let isWaiting = false
  const send = async () => {
    const text = collector.take()
    if (text !== undefined) await notify(db, text).catch(onLost)
    isWaiting = false
    if (!collector.isEmpty()) wait()
  }
  const wait = () => {
    if (isWaiting) return
    isWaiting = true
    setTimeout(send, TICK_MS).unref()
  }
  return (changes) => {
    collector.add(changes)
    if (changes.length > 0) wait()
  }
}

/** Sends a notice, unless no process listens. */
export async function notify(db: Db, text: string): Promise<void> {
  await db`
    select pg_notify(${LIVE_CHANNEL}, ${text})
    from (select from live_listeners where listens_until > now() limit 1) as listening
  `
}

type Collector = {
  add(changes: readonly LiveChange[]): void
  take(): string | undefined
  isEmpty(): boolean
}

/** Creates a bounded collector for the next notice. */
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

/** Replaces the ids of the largest companies by `all` until the JSON fits; if it still can't fit, sends `"all"`. */
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

/** Parses a notice. An unreadable one, perhaps from a later version, means that anything may have changed. */
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
