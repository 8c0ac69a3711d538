import type { Topic } from '../changes/live-change.ts'
import type { Pool } from '../db/connect.ts'
import type { Clock } from '../platform/clock.ts'
import { createFlood, type Flood } from './flood.ts'
import { createListener, createNoListener } from './listener.ts'
import { listActive } from './live-store.ts'
import type { Changed, Changes } from './notice.ts'

/** Clients read much after a reset: the next one of a company starts after this time at the earliest. */
const RESET_EVERY_MS = 2_000
/** A reset goes to this number of streams, and to the next ones after this pause. */
const RESET_STREAMS = 5
const RESET_PAUSE_MS = 200
/** Fewer at a time while the company has more changes than are sent. */
const RESET_STREAMS_IN_FLOOD = 1
const POLL_EVERY_MS = 1_000
/** Records that are read at once; more are a reset. */
const MAX_READ = 500

/** One open stream. */
export type Stream = {
  readonly companyId: number
  readonly topics: ReadonlySet<Topic>
  /** Sends events (`eventOf`). */
  write(text: string | Buffer): void
}

/** The text of an event; `data` is a line of JSON. */
export const eventOf = (event: string, data: string): string => `event: ${event}\ndata: ${data}\n\n`

/** Reads changed records of a company as they stand in the events. */
export type ReadRecords = (companyId: number, ids: readonly number[]) => Promise<readonly object[]>
export type Readers = Record<Exclude<Topic, 'answering'>, ReadRecords> & {
  /** The ids of the conversations that show these contacts, at most `limit`. */
  conversationsOf(companyId: number, contactIds: readonly number[], limit: number): Promise<readonly number[]>
}

export type Hub = {
  /** Adds a stream; resolves with its removal when changes from now on reach it. */
  open(stream: Stream): Promise<() => void>
  /** Sends all streams that the process stops, and stops listening. */
  close(): Promise<void>
}

type Company = {
  id: number
  streams: Set<Stream>
  pending: Changed[]
  isReading: boolean
  /** By polling: activity after this time. */
  seenUntil: Date
  /** A reset is on its way to the streams, or was within the last 2 s. */
  resetTimer: NodeJS.Timeout | undefined
  /** Another reset follows that one. */
  isStale: boolean
  flood: Flood
}

type HubDeps = { db: Pool; clock: Clock; readers: Readers; onFailure: (error: unknown) => void }

/** The streams of this process: changed records are read once for each company, however many streams it has. */
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

/** Reads and sends what changed until nothing is left: changes that arrive during a read are read together. */
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
  // Which of their messages changed is not known.
  if (active.length > 0) reset(company)
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

/** Sends a reset to the streams of a company: at once, and once more after further reasons. */
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

/** A message comes before the conversation that it changes. */
const READ_TOPICS = ['message', 'conversation', 'contact', 'delivery', 'import', 'scheduled'] as const
type Merged = {
  readonly ids: Record<(typeof READ_TOPICS)[number], Set<number>>
  readonly answering: ReadonlyMap<number, string>
  /** More has changed than is named. */
  readonly isReset: boolean
}

/** The changes of several notices, each once; undefined when they are too many to be read. */
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

/**
 * Reads the changed records that some stream takes, and writes each stream's events to it at once. Returns false when they
 * are too many.
 */
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
  // Streams of the same topics share the bytes.
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
