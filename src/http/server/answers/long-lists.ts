import type { FastifyInstance, FastifyReply } from 'fastify'
import { isAlone } from '../../../db/pool/fair-pool.ts'
import type { CompanySlots } from '../../../fair/company-slots.ts'
import { createFairPace } from '../../../fair/fair-pace.ts'

const SHORT = 16
/** Characters per event-loop turn: less than a millisecond. */
const TURN_LENGTH = 128 * 1024
/** Characters per second for all long lists, while more than one company is active. */
export const LIST_PACE = { perSecond: 8 * 1024 * 1024, burst: TURN_LENGTH }
const OPERATOR = 0

type List = readonly unknown[]

/**
 * Serializes long lists in pieces, at a rate shared by all companies, so megabytes must not delay others. Holds a
 * company slot meanwhile, which bounds the rows in memory.
 */
export function serializeLongLists(app: FastifyInstance, holdSlot: CompanySlots['hold'] = () => () => {}): void {
  const pace = createFairPace<number>(LIST_PACE)
  app.addHook('preSerialization', (request, reply, payload, done) => {
    const list = listIn(payload)
    if (list === undefined || list.length <= SHORT) return done(null, payload)
    const withItems = (items: List) => (list === payload ? items : { ...Object(payload), data: items })
    const owner = request.caller?.companyId ?? OPERATOR
    const nextTurn = () =>
      new Promise<void>((resolve) => {
        if (isAlone(owner) || pace.take({ owner, cost: TURN_LENGTH, onTurn: resolve })) setImmediate(resolve)
      })
    const release = holdSlot(owner)
    serializeInTurns(reply, list, withItems, nextTurn)
      .finally(release)
      .then((body) => {
        // Fastify also accepts bytes, but its type only allows text.
        reply.serializer(Object(() => body))
        done(null, payload)
      }, done)
  })
}

function listIn(payload: unknown): List | undefined {
  if (Array.isArray(payload)) return payload
  const { data }: { data?: unknown } = Object(payload)
  return Array.isArray(data) ? data : undefined
}

/** Returns bytes above one turn, because encoding megabytes of text would block the event loop, too. */
async function serializeInTurns(
  reply: FastifyReply,
  list: List,
  withItems: (items: List) => unknown,
  nextTurn: () => Promise<void>,
): Promise<string | Buffer> {
  const serialize = (items: List) => String(reply.serialize(withItems(items)))
  const empty = serialize([])
  const start = empty.startsWith('[') ? 1 : empty.indexOf('"data":[') + '"data":['.length
  const rest = empty.slice(start)
  const encoded: Buffer[] = []
  let text = empty.slice(0, start)
  for (let from = 0, count = 1; from < list.length; ) {
    const piece = serialize(list.slice(from, from + count))
    text += `${from === 0 ? '' : ','}${piece.slice(start, piece.length - rest.length)}`
    from += count
    if (piece.length < TURN_LENGTH / 4) count *= 2
    if (text.length < TURN_LENGTH) continue
    encoded.push(Buffer.from(text))
    text = ''
    await nextTurn()
  }
  return encoded.length === 0 ? text + rest : Buffer.concat([...encoded, Buffer.from(text + rest)])
}
