import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../clock.ts'
import { Ring } from '../world/ring.ts'

/** How a receiver answers; everything off is 200 at once. */
export type ReceiverBehaviour = {
  statusCode: number
  delayMs: number
  body: string
  /** Takes the request and never answers. */
  hang: boolean
  /** Answers one byte at a time and never ends. */
  drip: boolean
  /** Resets the connection instead of an answer. */
  reset: boolean
}

export type KeptRequest = { method: string; headers: IncomingHttpHeaders; body: string; at: Date }
export type Receiver = { behaviour: ReceiverBehaviour; requests: Ring<KeptRequest> }

export type ReceiverShelf = {
  /** The receiver of that name: created with its first use. */
  get(name: string): Receiver
  keep(name: string, request: Omit<KeptRequest, 'at'>): Receiver
}

const REQUESTS_KEPT = 1_000
const MOST_RECEIVERS = 100

/** A receiver that answers every delivery with 200 at once. */
export const calmReceiver = (): ReceiverBehaviour => ({
  statusCode: 200,
  delayMs: 0,
  body: 'ok',
  hang: false,
  drip: false,
  reset: false,
})

/** The receivers that companies may register here; the oldest gives way when there are too many. */
export function createReceiverShelf(clock: Clock): ReceiverShelf {
  const receivers = new Map<string, Receiver>()
  const get = (name: string): Receiver => {
    const existing = receivers.get(name)
    if (existing !== undefined) return existing
    const [oldest] = receivers.keys()
    if (receivers.size >= MOST_RECEIVERS && oldest !== undefined) receivers.delete(oldest)
    const fresh = { behaviour: calmReceiver(), requests: new Ring<KeptRequest>(REQUESTS_KEPT) }
    receivers.set(name, fresh)
    return fresh
  }
  return {
    get,
    keep: (name, request) => {
      const receiver = get(name)
      receiver.requests.add({ ...request, at: clock.now() })
      return receiver
    },
  }
}
