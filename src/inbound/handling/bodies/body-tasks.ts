import type { InboundItem } from '../../../providers/events/event-item.ts'
import type { EventReader } from '../../../providers/events/event-reader.ts'
import { type ProofInput, prove } from '../../ingest/signature.ts'
import { type BodyPart, type Indexed, type OpenedBody, openBody } from './open-body.ts'
import { rememberLarge } from './remember-large.ts'

type Body = { eventId: number; raw: Uint8Array }
type Plain<Item> = Item extends unknown ? Omit<Item, 'raw'> : never

/** An item without its functions. `json`: its own JSON; null: it is read with `cut`. */
type PlainItem = Plain<InboundItem> & { json: string | null }

/** The work on large bodies, by name: `body-reader.ts` runs it in a thread. */
export function createBodyTasks(reader: Pick<EventReader, 'parse' | 'idsOf'>) {
  const { parse } = rememberLarge(reader)
  const parsed = ({ eventId, raw }: Body) => parse(toBytes(raw), eventId)
  return {
    /** See `EventReader.idsOf`. Returns the bytes, too, which move. */
    findIds: ({ raw }: Pick<Body, 'raw'>) => ({ raw, ids: reader.idsOf(toBytes(raw)) }),
    /** See `prove`. Returns the bytes, too, which move. */
    prove: ({ raw, input }: Pick<Body, 'raw'> & { input: ProofInput }) => ({ raw, ...prove(toBytes(raw), input) }),
    /** See `openBody`. */
    open: ({ part, room, ...body }: Body & { part: BodyPart; room: number }): OpenedBody<PlainItem> => {
      const opened = openBody(parsed(body), part, room)
      if (opened.kind === 'unreadable') return opened
      return {
        ...opened,
        taken: opened.taken.map(({ item, index }) => ({ item: toPlain(item, item.raw()), index })),
        unreadable: opened.unreadable.map((one) => ({ ...one, item: toPlain(one.item, null) })),
      }
    },
    /** The JSON of items together, for each group of their keys; null where it cannot be cut out of the body. */
    cut: ({ groups, ...body }: Body & { groups: readonly (readonly string[])[] }): (string | null)[] => {
      const whole = parsed(body)
      const items = new Map((whole.kind === 'items' ? whole.items : []).map((item) => [item.key, item]))
      return groups.map((keys) => cutText(keys.flatMap((key) => items.get(key) ?? [])))
    },
  }
}

/** The bytes as a thread receives them. */
export const toBytes = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)

export type BodyTasks = ReturnType<typeof createBodyTasks>

const toPlain = ({ raw: _raw, ...item }: InboundItem, json: string | null): PlainItem => ({ ...item, json })

/** The items' own JSON, in one nesting; null where it cannot be cut out of the body. */
export function cutText([first, ...others]: readonly InboundItem[]): string | null {
  try {
    return first?.raw(others) ?? null
  } catch {
    return null
  }
}

/** The item of a plain one. */
export const toItem = ({ item: { json, ...item }, index }: Indexed<PlainItem>): Indexed => ({
  item: { ...item, raw: (others) => (json === null || others?.length ? unavailable() : json) },
  index,
})

function unavailable(): never {
  throw new Error('The text of these items is in the thread that read their body')
}
