/** Concurrent attempts per registration and process. */
export const MOST_AT_ONCE = 64
/** Bytes of bodies in flight per registration and process; beyond it no attempt starts. */
const MOST_BYTES = 8 * 1024 * 1024
const QUICK_MS = 1_000
/** Score of a quick receiver. A quick success adds 1, a slow one subtracts 1, a failure halves. */
const QUICK_SCORE = 20
const HIGHEST_SCORE = 64
/** Quick receivers passed to each claim statement. */
const MOST_QUICK = 500
/** Idle receivers to remember, about 200 bytes each. */
const MOST_REMEMBERED = 10_000

export type SlotResult = { succeeded: boolean; durationMs: number }

export type Slot = {
  /** Adds the attempt's body size. */
  hold(bytes: number): void
  /** Releases the slot; undefined if the outcome doesn't depend on the receiver. */
  end(how: SlotResult | undefined): void
}

export type ReceiverSlots = {
  /** Waits for a slot. Undefined: release the delivery, since its receiver is no longer quick or the process is stopping. */
  take(receiver: string): Promise<Slot | undefined>
  /** Returns up to 500 receivers with a quick history, most recently used last. */
  quick(): ReadonlySet<string>
  /** Resolves all current and later waits with undefined. */
  close(): void
}

type Receiver = {
  inFlight: number
  bytes: number
  score: number
  waiting: ((slot: Slot | undefined) => void)[]
}

/**
 * Limits attempts in flight per receiver and tracks quick receivers, for which more deliveries are claimed than can be in flight.
 * When a receiver fails, waiting deliveries are released: its retries come first in a claim and must not wait behind them.
 */
export function createReceiverSlots(): ReceiverSlots {
  const receivers = new Map<string, Receiver>()
  const quick = new Set<string>()
  let isClosed = false

  const begin = (id: string, receiver: Receiver): Slot => {
    let held = 0
    receiver.inFlight += 1
    return {
      hold: (bytes) => {
        held += bytes
        receiver.bytes += bytes
      },
      end: (how) => {
        receiver.inFlight -= 1
        receiver.bytes -= held
        if (how !== undefined) learn(receiver, how)
        remember(quick, id, receiver.score >= QUICK_SCORE)
        while (receiver.waiting.length > 0 && mayStart(receiver)) receiver.waiting.shift()?.(begin(id, receiver))
        if (receiver.inFlight === 0 && (receiver.score === 0 || receivers.size > MOST_REMEMBERED)) forget(id)
      },
    }
  }

  const forget = (id: string): void => {
    receivers.delete(id)
    quick.delete(id)
  }

  const find = (id: string): Receiver => {
    const receiver = receivers.get(id) ?? { inFlight: 0, bytes: 0, score: 0, waiting: [] }
    receivers.set(id, receiver)
    return receiver
  }

  return {
    take: async (id) => {
      if (isClosed) return undefined
      const receiver = find(id)
      if (mayStart(receiver)) return begin(id, receiver)
      return await new Promise((resolve) => receiver.waiting.push(resolve))
    },
    quick: () => quick,
    close: () => {
      isClosed = true
      for (const receiver of receivers.values()) release(receiver)
    },
  }
}

const mayStart = ({ inFlight, bytes }: Receiver): boolean => inFlight < MOST_AT_ONCE && bytes < MOST_BYTES

function remember(quick: Set<string>, id: string, isQuick: boolean): void {
  quick.delete(id)
  if (!isQuick) return
  quick.add(id)
  const [eldest] = quick
  if (eldest !== undefined && quick.size > MOST_QUICK) quick.delete(eldest)
}

function release({ waiting }: Receiver): void {
  for (const resolve of waiting.splice(0)) resolve(undefined)
}

function learn(receiver: Receiver, { succeeded, durationMs }: SlotResult): void {
  const wasQuick = receiver.score >= QUICK_SCORE
  if (!succeeded) receiver.score = Math.floor(receiver.score / 2)
  else if (durationMs < QUICK_MS) receiver.score = Math.min(receiver.score + 1, HIGHEST_SCORE)
  else receiver.score = Math.max(receiver.score - 1, 0)
  if (wasQuick && receiver.score < QUICK_SCORE) release(receiver)
}
