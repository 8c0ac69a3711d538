/** Attempts in flight at one registration, for each process. */
export const MOST_AT_ONCE = 64
/** Bytes of bodies in flight at one registration after which no further attempt starts, for each process. */
const MOST_BYTES = 8 * 1024 * 1024
/** An answer after this time is slow. */
const QUICK_MS = 1_000
/** A receiver is quick from this score on: a quick success adds 1, a slow one takes 1, a failure takes half. */
const QUICK_SCORE = 20
const HIGHEST_SCORE = 64
/** Quick receivers that are named: each claim of deliveries passes them to the database. */
const MOST_QUICK = 500
/** Receivers that are remembered while nothing is sent to them: about 200 bytes each. */
const MOST_REMEMBERED = 10_000

/** How an attempt ended, if its result depends on the receiver. */
export type SlotResult = { succeeded: boolean; durationMs: number }

export type Slot = {
  /** Says how large the body of the attempt is. */
  hold(bytes: number): void
  /** Releases the slot; undefined when the attempt says nothing about the receiver. */
  end(how: SlotResult | undefined): void
}

export type ReceiverSlots = {
  /**
   * Fulfilled when the receiver, by its lane, may be called once more; with undefined when the delivery is to be given back,
   * because its receiver is not quick any more or the slots are closed.
   */
  take(receiver: string): Promise<Slot | undefined>
  /** The receivers that have answered quickly for a while: those that were called last, at most 500. */
  quick(): ReadonlySet<string>
  /** Gives back all that waits, and all that comes. */
  close(): void
}

type Receiver = {
  inFlight: number
  bytes: number
  score: number
  waiting: ((slot: Slot | undefined) => void)[]
}

/**
 * Limits what is in flight at each receiver, and says which receivers are quick: more of their deliveries are claimed than
 * may be in flight, so that the next one waits here. They are given back when the receiver fails, so that its retries,
 * which a claim takes first, do not wait behind them.
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

/** Keeps the ids that were seen last, the latest at the end. */
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
