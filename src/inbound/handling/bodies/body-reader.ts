import type { InboundItem } from '../../../providers/events/event-item.ts'
import type { EventReader } from '../../../providers/events/event-reader.ts'
import type { RunTask } from '../../../threads/task-thread.ts'
import type { StoredEvent } from '../../event-store.ts'
import { type BodyTasks, cutText, toItem } from './body-tasks.ts'
import { type OpenedBody, openBody } from './open-body.ts'
import { rememberLarge } from './remember-large.ts'

/** Larger bodies are read in the thread. Reading a body of this size takes some milliseconds at most, whatever it holds. */
const MOST_BYTES_HERE = 64 * 1024
/** Lanes of the thread: requests wait for the first, events for the second. */
const REQUESTS = 0
const EVENTS = 1

export type BodyReader = {
  /** See `EventReader.idsOf`. */
  idsOf(body: Buffer): ReadonlySet<string> | undefined | Promise<ReadonlySet<string> | undefined>
  /** See `openBody`. A body that takes too long to read is unreadable. */
  open(event: StoredEvent, room: number): OpenedBody | Promise<OpenedBody>
  /** The JSON of each group of items of an event, in one nesting; the whole body where it cannot be cut out. */
  cut(event: StoredEvent, groups: readonly (readonly InboundItem[])[]): Buffer[] | Promise<Buffer[]>
}

/** Reads the bodies of events: small ones in this thread, large ones in another, so that they hold up no request. */
export function createBodyReader(
  reader: Pick<EventReader, 'parse' | 'idsOf'>,
  runTask: RunTask<BodyTasks>,
): BodyReader {
  const { parse } = rememberLarge(reader)
  const isSmall = (body: Buffer): boolean => body.length <= MOST_BYTES_HERE
  return {
    idsOf: (body) => (isSmall(body) ? reader.idsOf(body) : idsInThread(runTask, body)),
    open: (event, room) => {
      if (isSmall(event.body)) return openBody(parse(event.body, event.id), event, room)
      return openInThread(runTask, event, room)
    },
    cut: (event, groups) => {
      if (isSmall(event.body)) return groups.map((items) => toBuffer(event, cutText(items)))
      return cutInThread(runTask, event, groups)
    },
  }
}

async function idsInThread(runTask: RunTask<BodyTasks>, body: Buffer): Promise<ReadonlySet<string> | undefined> {
  const ids = await runTask(REQUESTS, 'findIds', { raw: body })
  return ids === 'too-slow' ? undefined : ids
}

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
  if (texts === 'too-slow') throw new Error('Cutting items out of a body takes too long')
  return texts.map((text) => toBuffer(event, text))
}

const toTask = ({ id, body }: StoredEvent) => ({ eventId: id, raw: body })

const toBuffer = ({ body }: StoredEvent, text: string | null): Buffer => (text === null ? body : Buffer.from(text))
