import type { Clock } from '../clock.ts'
import type { Pool } from '../db/connect.ts'
import type { Topic } from '../live-change.ts'
import { createListener } from './listener.ts'
import { listActive } from './live-store.ts'
import type { Changed, Changes } from './notice.ts'

/** How long a reset stands for all that follow: clients read much after each. */
const RESET_EVERY_MS = 2_000
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

/** An event as the stream carries it; `data` is a line of JSON. */
export const eventOf = (event: string, data: string): string => `event: ${event}\ndata: ${data}\n\n`

/** Reads changed records of a company as they stand in the events. */
export type ReadRecords = (companyId: number, ids: readonly number[]) => Promise<readonly object[]>
export type Readers = Record<Exclude<Topic, 'answering'>, ReadRecords>

export type Hub = {
  /** Adds a stream; resolves with its removal when changes from now on reach it. */
  open(stream: Stream): Promise<() => void>
  /** Tells all streams that the process stops, and stops listening. */
  close(): Promise<void>
}

type Company = {
  id: number
  streams: Set<Stream>
  pending: Changed[]
  isReading: boolean
  /** By polling: activity after this time. */
  seenUntil: Date
  resetAtMs: number
  resetTimer: NodeJS.Timeout | undefined
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
  const listener = createListener(db, { onChanges: spread, onGap: resetAll })
  let polling: NodeJS.Timeout | undefined

  const poll = async () => {
    if (listener.isDeaf)
      await Promise.all([...companies.values()].map((company) => pollCompany(db, company))).catch(onFailure)
    if (companies.size > 0) polling = setTimeout(poll, POLL_EVERY_MS).unref()
  }

  return {
    open: async (stream) => {
      const company = companies.get(stream.companyId) ?? newCompany(stream.companyId, clock.now())
      companies.set(stream.companyId, company)
      company.streams.add(stream)
      polling ??= setTimeout(poll, POLL_EVERY_MS).unref()
      await listener.begin()
      return () => {
        company.streams.delete(stream)
        if (company.streams.size > 0 || companies.get(company.id) !== company) return
        companies.delete(company.id)
        clearTimeout(company.resetTimer)
        if (companies.size > 0) return
        clearTimeout(polling)
        polling = undefined
        void listener.end()
      }
    },
    close: async () => {
      for (const { streams } of companies.values()) for (const stream of streams) stream.write(eventOf('bye', '{}'))
      clearTimeout(polling)
      await listener.end()
    },
  }
}

type Sending = Pick<HubDeps, 'readers' | 'onFailure'>

function take(company: Company, changed: Changed, sending: Sending): void {
  if (changed === 'all') reset(company)
  else {
    company.pending.push(changed)
    if (!company.isReading) void drain(company, sending)
  }
}

/** Reads and sends what changed until nothing is left: changes that arrive during a read are read together. */
async function drain(company: Company, { readers, onFailure }: Sending): Promise<void> {
  company.isReading = true
  while (company.pending.length > 0 && company.streams.size > 0) {
    const merged = mergeOf(company.pending)
    company.pending = []
    if (merged === undefined) reset(company)
    else
      await sendChanged(company, readers, merged).catch((error) => {
        onFailure(error)
        reset(company)
      })
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
  resetAtMs: Number.NEGATIVE_INFINITY,
  resetTimer: undefined,
})

/** Tells the streams of a company to read again: at once, and at the end of an interval with further reasons. */
function reset(company: Company): void {
  if (company.resetTimer !== undefined) return
  const waitMs = company.resetAtMs + RESET_EVERY_MS - performance.now()
  const tell = () => {
    company.resetTimer = undefined
    company.resetAtMs = performance.now()
    for (const stream of company.streams) stream.write(eventOf('reset', '{}'))
  }
  if (waitMs <= 0) tell()
  else company.resetTimer = setTimeout(tell, waitMs).unref()
}

type Named = Exclude<Changed, 'all'>

/** The changes of several notices, each once; undefined when they are too many to be read. */
function mergeOf(pending: readonly Changed[]): Named | undefined {
  const ids = {
    conversation: new Set<number>(),
    message: new Set<number>(),
    delivery: new Set<number>(),
    import: new Set<number>(),
  }
  const answering = new Map<number, string>()
  for (const changed of pending) {
    if (changed === 'all') return undefined
    for (const topic of READ_TOPICS) for (const id of changed[topic] ?? []) ids[topic].add(id)
    for (const [chatId, name] of changed.answering ?? []) answering.set(chatId, name)
  }
  if (READ_TOPICS.some((topic) => ids[topic].size > MAX_READ) || answering.size > MAX_READ) return undefined
  const [conversation, message, delivery] = [[...ids.conversation], [...ids.message], [...ids.delivery]]
  return { conversation, message, delivery, import: [...ids.import], answering: [...answering] }
}

/** A message stands before the conversation that it changes. */
const READ_TOPICS = ['message', 'conversation', 'delivery', 'import'] as const

/** Reads the changed records that some stream takes, and writes each stream's events to it at once. */
async function sendChanged(company: Company, readers: Readers, changed: Named): Promise<void> {
  const texts = new Map<Topic, string>()
  for (const topic of READ_TOPICS) {
    const ids = changed[topic] ?? []
    if (ids.length === 0 || ![...company.streams].some(({ topics }) => topics.has(topic))) continue
    const records = await readers[topic](company.id, ids)
    texts.set(topic, records.map((record) => eventOf(topic, JSON.stringify(record))).join(''))
  }
  const answering = changed.answering ?? []
  texts.set(
    'answering',
    answering.map(([chatId, name]) => eventOf('answering', JSON.stringify({ chatId, name }))).join(''),
  )
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
}
