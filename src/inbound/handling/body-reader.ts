import type { RunTask } from '../../fair/threads/task-thread.ts'
import { createCache } from '../../platform/cache.ts'
import type { InboundItem, ParsedInbound } from '../../providers/events/event-item.ts'
import type { EventReader } from '../../providers/events/event-reader.ts'
import type { StoredEvent } from '../event-store.ts'
import { needsMac, type Proof, type ProofInput, type Proven, prove } from '../ingest/signature.ts'

/** Larger bodies are read on a thread. Up to this size reading takes a few milliseconds, whatever the content. */
const MOST_BYTES_HERE = 64 * 1024
/** Thread lanes, so that requests never wait behind events. */
const REQUESTS = 0
const EVENTS = 1

/** A large body moves to the thread, leaving the caller's Buffer empty. Undefined if the thread died. */
type Found<What> = (What & { body: Buffer }) | undefined
type FoundIds = Found<{ ids: ReadonlySet<string> | undefined }>
type ProvenBody = Found<{ proof: Proof; proven: Proven }>

export type BodyReader = {
  findIds(body: Buffer): FoundIds | Promise<FoundIds>
  prove(body: Buffer, input: ProofInput): ProvenBody | Promise<ProvenBody>
  /** Bodies too slow to read are unreadable. */
  open(event: StoredEvent, room: number): OpenedBody | Promise<OpenedBody>
  remember(eventId: number, body: Buffer): void
  remembered(): ReadonlyMap<number, Buffer>
  /** Returns one JSON text per group, or the whole body where an item can't be cut out. */
  cut(event: StoredEvent, groups: readonly (readonly InboundItem[])[]): Buffer[] | Promise<Buffer[]>
}

/** Reads small bodies on this thread and large ones on another, so that they never block requests. */
export function createBodyReader(
  reader: Pick<EventReader, 'parse' | 'idsOf'>,
  runTask: RunTask<BodyTasks>,
): BodyReader {
  const { parse } = rememberLarge(reader)
  const remembered = createCache<number, Buffer>({
    name: 'large_events',
    max: MAX_REMEMBERED_BYTES,
    sizeOf: ({ length }) => length,
    ttlMs: REMEMBERED_MS,
  })
  const isSmall = (body: Buffer): boolean => body.length <= MOST_BYTES_HERE
  const remember = (eventId: number, body: Buffer): void => {
    if (!isSmall(body)) remembered.set(eventId, toShared(body))
  }
  const openLarge = async (event: StoredEvent, room: number): Promise<OpenedBody> => {
    const body = toShared(event.body)
    const opened = await openInThread(runTask, { ...event, body }, room)
    if (opened.kind === 'items' && opened.next !== null) remember(event.id, body)
    else remembered.drop(event.id)
    return opened
  }
  return {
    findIds: (body) => (isSmall(body) ? { body, ids: reader.idsOf(body) } : findInThread(runTask, body)),
    prove: (body, input) =>
      isSmall(body) || !needsMac(input) ? { body, ...prove(body, input) } : proveInThread(runTask, body, input),
    open: (event, room) => {
      if (isSmall(event.body)) return openBody(parse(event.body, event.id), event, room)
      return openLarge(event, room)
    },
    remember,
    remembered: () => new Map(remembered.entries()),
    cut: (event, groups) => {
      if (isSmall(event.body)) return groups.map((items) => toBuffer(event, cutText(items)))
      return cutInThread(runTask, event, groups)
    },
  }
}

/** Shares memory with the thread: copying 4 MiB blocks this thread for up to 50 ms each time. */
function toShared(body: Buffer): Buffer {
  if (body.buffer instanceof SharedArrayBuffer) return body
  const shared = Buffer.from(new SharedArrayBuffer(body.length))
  body.copy(shared)
  return shared
}

async function findInThread(runTask: RunTask<BodyTasks>, body: Buffer): Promise<FoundIds> {
  const found = await runTask(REQUESTS, 'findIds', { raw: body }, memoryOf(body))
  return found === 'too-slow' ? undefined : { body: toBytes(found.raw), ids: found.ids }
}

async function proveInThread(runTask: RunTask<BodyTasks>, body: Buffer, input: ProofInput): Promise<ProvenBody> {
  const found = await runTask(REQUESTS, 'prove', { raw: body, input }, memoryOf(body))
  if (found === 'too-slow') return undefined
  const { secretMac } = found.proof
  const proof = { signature: input.credentials.signature, secretMac: secretMac && toBytes(secretMac) }
  return { body: toBytes(found.raw), proof, proven: found.proven }
}

const memoryOf = ({ buffer, byteLength }: Buffer): ArrayBuffer[] =>
  buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : []

async function openInThread(runTask: RunTask<BodyTasks>, event: StoredEvent, room: number): Promise<OpenedBody> {
  const { part, others, done } = event
  const opened = await runTask(EVENTS, 'open', { ...toTask(event), part: { part, others, done }, room })
  if (opened === 'too-slow') return { kind: 'unreadable', reason: 'reading it takes too long' }
  if (opened.kind === 'unreadable') return opened
  return {
    ...opened,
    taken: opened.taken.map(toItem),
    unreadable: opened.unreadable.map((one) => ({ ...toItem(one), reason: one.reason })),
  }
}

async function cutInThread(
  runTask: RunTask<BodyTasks>,
  event: StoredEvent,
  groups: readonly (readonly InboundItem[])[],
): Promise<Buffer[]> {
  const keys = groups.map((items) => items.map(({ key }) => key))
  const texts = await runTask(EVENTS, 'cut', { ...toTask(event), groups: keys })
  if (texts === 'too-slow') throw new Error('Cutting items out of the body took too long')
  return texts.map((text) => toBuffer(event, text))
}

const toTask = ({ id, body }: StoredEvent) => ({ eventId: id, raw: body })

const toBuffer = ({ body }: StoredEvent, text: string | null): Buffer => (text === null ? body : Buffer.from(text))

type Body = { eventId: number; raw: Uint8Array }
type Plain<Item> = Item extends unknown ? Omit<Item, 'raw'> : never

type PlainItem = Plain<InboundItem> & { json: string | null }

/** Creates the tasks that `body-reader.ts` runs on a thread. */
export function createBodyTasks(reader: Pick<EventReader, 'parse' | 'idsOf'>) {
  const { parse } = rememberLarge(reader)
  const parsed = ({ eventId, raw }: Body) => parse(toBytes(raw), eventId)
  return {
    findIds: ({ raw }: Pick<Body, 'raw'>) => ({ raw, ids: reader.idsOf(toBytes(raw)) }),
    prove: ({ raw, input }: Pick<Body, 'raw'> & { input: ProofInput }) => ({ raw, ...prove(toBytes(raw), input) }),
    open: ({ part, room, ...body }: Body & { part: BodyPart; room: number }): OpenedBody<PlainItem> => {
      const opened = openBody(parsed(body), part, room)
      if (opened.kind === 'unreadable') return opened
      return {
        ...opened,
        taken: opened.taken.map(({ item, index }) => ({ item: toPlain(item, item.raw()), index })),
        unreadable: opened.unreadable.map((one) => ({ ...one, item: toPlain(one.item, null) })),
      }
    },
    cut: ({ groups, ...body }: Body & { groups: readonly (readonly string[])[] }): (string | null)[] => {
      const whole = parsed(body)
      const items = new Map((whole.kind === 'items' ? whole.items : []).map((item) => [item.key, item]))
      return groups.map((keys) => cutText(keys.flatMap((key) => items.get(key) ?? [])))
    },
  }
}

/** Wraps bytes received on a thread. */
export const toBytes = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)

export type BodyTasks = ReturnType<typeof createBodyTasks>

const toPlain = ({ raw: _raw, ...item }: InboundItem, json: string | null): PlainItem => ({ ...item, json })

/** Returns the items' JSON as one text; null if they can't be cut out. */
function cutText([first, ...others]: readonly InboundItem[]): string | null {
  try {
    return first?.raw(others) ?? null
  } catch {
    return null
  }
}

export const toItem = ({ item: { json, ...item }, index }: Indexed<PlainItem>): Indexed => ({
  item: { ...item, raw: (others) => (json === null || others?.length ? unavailable() : json) },
  index,
})

function unavailable(): never {
  throw new Error('Only the thread that read the body has the text of these items')
}

type BodyPart = Pick<StoredEvent, 'part' | 'others' | 'done'>

type Indexed<Item = InboundItem> = { item: Item; index: number }

export type OpenedBody<Item = InboundItem> =
  | { kind: 'unreadable'; reason: string }
  | {
      kind: 'items'
      taken: Indexed<Item>[]
      unreadable: (Indexed<Item> & { reason: string })[]
      next: number | null
    }

/** Takes up to `room` items to handle. */
function openBody(parsed: ParsedInbound, event: BodyPart, room: number): OpenedBody {
  if (parsed.kind === 'unreadable') return parsed
  const own = parsed.items.filter(({ route }) =>
    belongsToPart(event, route.by === 'sender' ? route.phoneNumberId : null),
  )
  const opened = { kind: 'items' as const, taken: [] as Indexed[], unreadable: [] as (Indexed & { reason: string })[] }
  for (const [index, item] of own.entries()) {
    if (index < event.done || item.kind === 'ignored') continue
    if (item.kind === 'unreadable-item') opened.unreadable.push({ item, index, reason: item.reason })
    else if (opened.taken.length === room) return { ...opened, next: index }
    else opened.taken.push({ item, index })
  }
  return { ...opened, next: null }
}

/** Smaller bodies are handled in a single transaction. */
const LARGE_BYTES = 8 * 1024
const MAX_REMEMBERED_BYTES = 8 * 1024 * 1024
const REMEMBERED_MS = 10_000

/** Caches parsed large bodies, which would otherwise be parsed again per transaction. */
function rememberLarge(reader: Pick<EventReader, 'parse'>): {
  parse(raw: Buffer, eventId: number): ParsedInbound
} {
  const parsed = createCache<number, { items: ParsedInbound; bytes: number }>({
    name: 'parsed_events',
    max: MAX_REMEMBERED_BYTES,
    sizeOf: ({ bytes }) => bytes,
    ttlMs: REMEMBERED_MS,
  })
  return {
    parse: (raw, eventId) => {
      if (raw.length < LARGE_BYTES) return reader.parse(raw)
      const known = parsed.find(eventId)
      // After a database crash an id may belong to another event.
      const items = known?.bytes === raw.length ? known.items : reader.parse(raw)
      parsed.set(eventId, { items, bytes: raw.length })
      return items
    },
  }
}

/** Returns whether an event has the items of a number. */
export const belongsToPart = (
  event: { part: string; others: readonly string[] },
  phoneNumberId: string | null,
): boolean => phoneNumberId === event.part || (event.others[0] !== '*' && !event.others.includes(phoneNumberId ?? ''))
