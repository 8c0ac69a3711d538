import type { RunTask } from '../../fair/threads/task-thread.ts'
import { createCache } from '../../platform/cache.ts'
import type { InboundItem, ParsedInbound } from '../../providers/events/event-item.ts'
import type { EventReader } from '../../providers/events/event-reader.ts'
import type { StoredEvent } from '../event-store.ts'
import {
  type BodyPart,
  type BodyReader,
  cutText,
  type Indexed,
  type OpenedBody,
  openBody,
  type ProofInput,
  prove,
  REMEMBERED,
  toBuffer,
} from './body-reader.ts'

/** Thread lanes, so that requests never wait behind events. */
const REQUESTS = 0
const EVENTS = 1

type BodyThread = Pick<BodyReader, 'findIds' | 'prove' | 'open' | 'cut'>

/** Runs the tasks of `createBodyTasks` on a thread. */
export function createBodyThread(runTask: RunTask<BodyTasks>): BodyThread {
  return {
    findIds: async (body) => {
      const found = await runTask(REQUESTS, 'findIds', { raw: body }, memoryOf(body))
      return found === 'too-slow' ? undefined : { body: toBytes(found.raw), ids: found.ids }
    },
    prove: async (body, input) => {
      const found = await runTask(REQUESTS, 'prove', { raw: body, input }, memoryOf(body))
      if (found === 'too-slow') return undefined
      const { secretMac } = found.proof
      const proof = { signature: input.credentials.signature, secretMac: secretMac && toBytes(secretMac) }
      return { body: toBytes(found.raw), proof, proven: found.proven }
    },
    open: async (event, room) => {
      const { part, others, done } = event
      const opened = await runTask(EVENTS, 'open', { ...toTask(event), part: { part, others, done }, room })
      if (opened === 'too-slow') return { kind: 'unreadable', reason: 'reading it takes too long' }
      if (opened.kind === 'unreadable') return opened
      return {
        ...opened,
        taken: opened.taken.map(toItem),
        unreadable: opened.unreadable.map((one) => ({ ...toItem(one), reason: one.reason })),
      }
    },
    cut: async (event, groups) => {
      const keys = groups.map((items) => items.map(({ key }) => key))
      const texts = await runTask(EVENTS, 'cut', { ...toTask(event), groups: keys })
      if (texts === 'too-slow') throw new Error('Cutting items out of the body took too long')
      return texts.map((text) => toBuffer(event, text))
    },
  }
}

const memoryOf = ({ buffer, byteLength }: Buffer): ArrayBuffer[] =>
  buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : []

const toTask = ({ id, body }: StoredEvent) => ({ eventId: id, raw: body })

type Body = { eventId: number; raw: Uint8Array }
type Plain<Item> = Item extends unknown ? Omit<Item, 'raw'> : never

type PlainItem = Plain<InboundItem> & { json: string | null }

/** Creates the tasks of the thread, which read a body as `createBodyReader` does. */
export function createBodyTasks(reader: Pick<EventReader, 'parse' | 'idsOf'>) {
  const bodies = createCache<number, { items: ParsedInbound; bytes: number }>({
    name: 'parsed_events',
    sizeOf: ({ bytes }) => bytes,
    ...REMEMBERED,
  })
  const parsed = ({ eventId, raw }: Body): ParsedInbound => {
    const known = bodies.find(eventId)
    // After a database crash an id may belong to another event.
    const items = known?.bytes === raw.length ? known.items : reader.parse(toBytes(raw))
    bodies.set(eventId, { items, bytes: raw.length })
    return items
  }
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
const toBytes = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer => Buffer.from(buffer, byteOffset, byteLength)

export type BodyTasks = ReturnType<typeof createBodyTasks>

const toPlain = ({ raw: _raw, ...item }: InboundItem, json: string | null): PlainItem => ({ ...item, json })

const toItem = ({ item: { json, ...item }, index }: Indexed<PlainItem>): Indexed => ({
  item: { ...item, raw: (others) => (json === null || others?.length ? unavailable() : json) },
  index,
})

function unavailable(): never {
  throw new Error('Only the thread that read the body has the text of these items')
}
