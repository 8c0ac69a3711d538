import type { Topic } from '../changes/live-change.ts'
import type { Db, Pool } from '../db/connect.ts'
import type { Clock } from '../platform/clock.ts'
import { createListener, createNoListener } from './listener.ts'
import type { Changed, Changes } from './notice.ts'

/** Minimum time between resets of a company: clients read a lot after each. */
const RESET_EVERY_MS = 2_000
const RESET_STREAMS = 5
const RESET_PAUSE_MS = 200
const RESET_STREAMS_IN_FLOOD = 1
const POLL_EVERY_MS = 1_000
/** Maximum records per read; beyond this, the hub sends a reset. */
const MAX_READ = 500

export type Stream = {
  readonly companyId: number
  readonly topics: ReadonlySet<Topic>
  write(text: string | Buffer): void
}

/** Formats an SSE event; `data` must be one line of JSON. */
export const eventOf = (event: string, data: string): string => `event: ${event}\ndata: ${data}\n\n`

type ReadRecords = (companyId: number, ids: readonly number[]) => Promise<readonly object[]>
export type Readers = Record<Exclude<Topic, 'answering'>, ReadRecords> & {
  conversationsOf(companyId: number, contactIds: readonly number[], limit: number): Promise<readonly number[]>
}

export type Hub = {
  /** Resolves with the stream's removal once changes reach it. */
  open(stream: Stream): Promise<() => void>
  close(): Promise<void>
}

type Company = {
  id: number
  streams: Set<Stream>
  pending: Changed[]
  isReading: boolean
  seenUntil: Date
  /** Set while a reset runs and for 2 s after its start. */
  resetTimer: NodeJS.Timeout | undefined
  isStale: boolean
  flood: Flood
}

type HubDeps = { db: Pool; clock: Clock; readers: Readers; onFailure: (error: unknown) => void }

/** Creates the hub of this process, which reads each changed record once per company, whatever the number of streams. */
export function createHub({ db, clock, readers, onFailure }: HubDeps): Hub {
  const companies = new Map<number, Company>()
  const resetAll = () => {
    for (const company of companies.values()) reset(company)
  }
  const spread = (changes: Changes) => {
    if (changes === 'all') return resetAll()
    for (const [companyId, changed] of changes) {
      const company = companies.get(companyId)
      if (company !== undefined) take(company, changed, { readers, onFailure })
    }
  }
  const listener = db.options.isPooled ? createNoListener() : createListener(db, { onChanges: spread, onGap: resetAll })
  let isPolling = false
  const poll = async () => {
    if (!listener.isDisconnected || isPolling) return
    isPolling = true
    await Promise.all([...companies.values()].map((company) => pollCompany(db, company))).catch(onFailure)
    isPolling = false
  }
  const polling = setInterval(poll, POLL_EVERY_MS).unref()

  return {
    open: async (stream) => {
      const company = companies.get(stream.companyId) ?? newCompany(stream.companyId, clock.now())
      companies.set(stream.companyId, company)
      company.streams.add(stream)
      await listener.start()
      return () => {
        company.streams.delete(stream)
        if (company.streams.size > 0 || companies.get(company.id) !== company) return
        companies.delete(company.id)
        clearTimeout(company.resetTimer)
        if (companies.size === 0) void listener.end()
      }
    },
    close: async () => {
      for (const { streams } of companies.values()) for (const stream of streams) stream.write(eventOf('bye', '{}'))
      clearInterval(polling)
      await listener.end()
    },
  }
}

type Sending = Pick<HubDeps, 'readers' | 'onFailure'>

function take(company: Company, changed: Changed, sending: Sending): void {
  company.pending.push(changed)
  if (!company.isReading) void drain(company, sending)
}

/** Sends until nothing is pending; changes that arrive during a read share the next one. */
async function drain(company: Company, { readers, onFailure }: Sending): Promise<void> {
  company.isReading = true
  while (company.pending.length > 0 && company.streams.size > 0) {
    const merged = mergeOf(company.pending)
    company.pending = []
    company.flood.add(merged === undefined ? MAX_READ : countOf(merged))
    const isSent =
      merged !== undefined &&
      !company.flood.isOn &&
      (await sendChanged(company, readers, merged).catch(onFailure)) === true
    if (!isSent || merged.isReset) reset(company)
  }
  company.isReading = false
}

async function pollCompany(db: Pool, company: Company): Promise<void> {
  const active = await listActive(db, company.id, company.seenUntil, MAX_READ + 1)
  company.seenUntil = active.at(-1)?.activeAt ?? company.seenUntil
  // Activity doesn't identify the changed messages.
  if (active.length > 0) reset(company)
}

/** Lists conversations with activity after a time, oldest first. */
export async function listActive(
  db: Db,
  companyId: number,
  after: Date,
  limit: number,
): Promise<{ conversationId: number; activeAt: Date }[]> {
  return db<{ conversationId: number; activeAt: Date }[]>`
    select conversation_id, active_at
    from conversation_activity
    where company_id = ${companyId} and active_at > ${after}
    order by active_at
    limit ${limit}
  `
}

const newCompany = (id: number, now: Date): Company => ({
  id,
  streams: new Set(),
  pending: [],
  isReading: false,
  seenUntil: now,
  resetTimer: undefined,
  isStale: false,
  flood: createFlood(),
})

function reset(company: Company): void {
  company.isStale = true
  if (company.resetTimer === undefined) startReset(company)
}

function startReset(company: Company): void {
  company.isStale = false
  const endsAtMs = performance.now() + RESET_EVERY_MS
  const waiting = [...company.streams]
  const sendSome = () => {
    const count = company.flood.isOn ? RESET_STREAMS_IN_FLOOD : RESET_STREAMS
    for (const stream of waiting.splice(0, count)) stream.write(eventOf('reset', '{}'))
    const isDone = waiting.length === 0
    const waitMs = isDone ? Math.max(0, endsAtMs - performance.now()) : RESET_PAUSE_MS
    company.resetTimer = setTimeout(isDone ? end : sendSome, waitMs).unref()
  }
  const end = () => {
    company.resetTimer = undefined
    if (company.isStale) startReset(company)
  }
  sendSome()
}

/** A message must precede its conversation. */
const READ_TOPICS = ['message', 'conversation', 'contact', 'delivery', 'import', 'scheduled'] as const
type Merged = {
  readonly ids: Record<(typeof READ_TOPICS)[number], Set<number>>
  readonly answering: ReadonlyMap<number, string>
  readonly isReset: boolean
}

/** Merges and deduplicates notices; returns undefined if there are too many changes to read. */
function mergeOf(pending: readonly Changed[]): Merged | undefined {
  const noIds = () => new Set<number>()
  const ids = {
    message: noIds(),
    conversation: noIds(),
    contact: noIds(),
    delivery: noIds(),
    import: noIds(),
    scheduled: noIds(),
  }
  const answering = new Map<number, string>()
  let isReset = false
  for (const changed of pending) {
    if (changed === 'all') return undefined
    for (const topic of READ_TOPICS) for (const id of changed[topic] ?? []) ids[topic].add(id)
    for (const [chatId, name] of changed.answering ?? []) answering.set(chatId, name)
    isReset ||= changed.all !== undefined
  }
  if (READ_TOPICS.some((topic) => ids[topic].size > MAX_READ) || answering.size > MAX_READ) return undefined
  return { ids, answering, isReset }
}

const countOf = ({ ids }: Merged): number => READ_TOPICS.reduce((sum, topic) => sum + ids[topic].size, 0)

/** Reads the changed records once and writes them to subscribed streams. Returns false if there are too many. */
async function sendChanged(company: Company, readers: Readers, { ids, answering }: Merged): Promise<boolean> {
  const isTaken = (topic: Topic) => [...company.streams].some(({ topics }) => topics.has(topic))
  if (ids.contact.size > 0 && isTaken('conversation')) {
    const shown = await readers.conversationsOf(company.id, [...ids.contact], MAX_READ + 1)
    for (const id of shown) ids.conversation.add(id)
    if (ids.conversation.size > MAX_READ) return false
  }
  const texts = new Map<Topic, string>()
  for (const topic of READ_TOPICS) {
    if (ids[topic].size === 0 || !isTaken(topic)) continue
    const records = await readers[topic](company.id, [...ids[topic]])
    texts.set(topic, records.map((record) => eventOf(topic, JSON.stringify(record))).join(''))
  }
  const toEvent = ([chatId, name]: [number, string]) => eventOf('answering', JSON.stringify({ chatId, name }))
  texts.set('answering', [...answering].map(toEvent).join(''))
  // Streams with the same topics share the bytes.
  const joined = new Map<string, Buffer>()
  for (const { topics, write } of company.streams) {
    const taken = [...texts].filter(([topic, text]) => text !== '' && topics.has(topic))
    if (taken.length === 0) continue
    const key = taken.map(([topic]) => topic).join()
    const bytes = joined.get(key) ?? Buffer.from(taken.map(([, text]) => text).join(''))
    joined.set(key, bytes)
    write(bytes)
  }
  return true
}

const PER_SECOND = 1_000
/** Excess that starts a flood; also the maximum counted, so that a flood can end soon. */
const MAX_EXCESS = 500
const CALM_EXCESS = 100

/** Whether changes arrive faster than they can be sent. During a flood, resets cost less than records. */
export type Flood = {
  readonly isOn: boolean
  add(count: number): void
}

/** Creates a leaky bucket, drained by `PER_SECOND` with or without new changes. */
export function createFlood(): Flood {
  let excess = 0
  let isOn = false
  let atMs = performance.now()
  const shrink = () => {
    const nowMs = performance.now()
    excess = Math.max(0, excess - ((nowMs - atMs) / 1_000) * PER_SECOND)
    atMs = nowMs
    if (excess <= CALM_EXCESS) isOn = false
  }
  return {
    get isOn() {
      shrink()
      return isOn
    },
    add: (count) => {
      shrink()
      isOn ||= excess + count > MAX_EXCESS
      excess = Math.min(excess + count, MAX_EXCESS)
    },
  }
}
