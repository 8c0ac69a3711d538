import type { InboundItem } from '../../../providers/events/event-item.ts'
import type { EventReader } from '../../../providers/events/event-reader.ts'
import { type ProofInput, prove } from '../../ingest/signature.ts'
import { type BodyPart, type Indexed, type OpenedBody, openBody } from './open-body.ts'
import { rememberLarge } from './remember-large.ts'

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
export function cutText([first, ...others]: readonly InboundItem[]): string | null {
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
