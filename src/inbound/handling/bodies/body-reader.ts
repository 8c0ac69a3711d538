import { LRUCache } from 'lru-cache'
import type { RunTask } from '../../../fair/threads/task-thread.ts'
import type { InboundItem } from '../../../providers/events/event-item.ts'
import type { EventReader } from '../../../providers/events/event-reader.ts'
import type { StoredEvent } from '../../event-store.ts'
import { needsMac, type Proof, type ProofInput, type Proven, prove } from '../../ingest/signature.ts'
import { type BodyTasks, cutText, toBytes, toItem } from './body-tasks.ts'
import { type OpenedBody, openBody } from './open-body.ts'
import { MAX_REMEMBERED_BYTES, REMEMBERED_MS, rememberLarge } from './remember-large.ts'

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
  const remembered = new LRUCache<number, Buffer>({
    maxSize: MAX_REMEMBERED_BYTES,
    sizeCalculation: ({ length }) => length,
    ttl: REMEMBERED_MS,
  })
  const isSmall = (body: Buffer): boolean => body.length <= MOST_BYTES_HERE
  const remember = (eventId: number, body: Buffer): void => {
    if (!isSmall(body)) remembered.set(eventId, toShared(body))
  }
  const openLarge = async (event: StoredEvent, room: number): Promise<OpenedBody> => {
    const body = toShared(event.body)
    const opened = await openInThread(runTask, { ...event, body }, room)
    if (opened.kind === 'items' && opened.next !== null) remember(event.id, body)
    else remembered.delete(event.id)
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
