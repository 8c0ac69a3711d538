/** Attempts in flight per receiver and process: at first, then doubled by each success up to the second number. */
const FIRST_AT_ONCE = 4
const ORDINARY_AT_ONCE = 20
/** Beyond it, quick successes alone allow more, one at a time. */
const MOST_AT_ONCE = 64
/** An answer after this time is no reason to ask for more at once. */
const QUICK_MS = 1_000

/** From the end of one attempt to the start of the next while a receiver fails: doubled by each failure. */
const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 200
/** Quick receivers that are named: each claim of deliveries passes them to the database. */
const MOST_QUICK = 500
/** Receivers that are remembered while nothing is sent to them: about 200 bytes each. */
const MOST_REMEMBERED = 10_000

/** How an attempt ended, if its result depends on the receiver. */
export type SlotResult = { succeeded: boolean; durationMs: number }

export type Slot = {
  /** Releases the slot; undefined when the attempt says nothing about the receiver. */
  end(how: SlotResult | undefined): void
}

export type ReceiverSlots = {
  /**
   * Fulfilled when the receiver, by its lane, may be called once more; with undefined when the delivery is to be given back,
   * because its receiver fails or the slots are closed.
   */
  take(receiver: string): Promise<Slot | undefined>
  /** The receivers that have answered quickly for a while: those that were called last, at most 500. */
  quick(): ReadonlySet<string>
  /** Gives back all that waits, and all that comes. */
  close(): void
}

type Receiver = {
  inFlight: number
  atOnce: number
  /** While it fails and its next attempt has to wait, 0 otherwise. */
  pauseMs: number
  /** Ends the pause that lasts now. */
  timer: NodeJS.Timeout | undefined
  waiting: ((slot: Slot | undefined) => void)[]
}

/**
 * Limits the attempts in flight at each receiver: a few until it has answered, then as many as it can take, and one at
 * a time, with pauses, while it fails. A waiting delivery holds no connection, and is released as soon as its receiver
 * fails, so that a receiver costs the others nothing.
 */
export function createReceiverSlots(): ReceiverSlots {
  const receivers = new Map<string, Receiver>()
  const quick = new Set<string>()
  let isClosed = false

  const forget = (id: string): void => {
    receivers.delete(id)
    quick.delete(id)
  }

  const begin = (id: string, receiver: Receiver): Slot => {
    receiver.inFlight += 1
    return {
      end: (how) => {
        receiver.inFlight -= 1
        if (how !== undefined) learn(receiver, how)
        remember(quick, id, receiver.atOnce > ORDINARY_AT_ONCE)
        if (how !== undefined && receiver.pauseMs > 0) pause(id, receiver)
        else endPause(id, receiver)
      },
    }
  }

  const endPause = (id: string, receiver: Receiver): void => {
    clearTimeout(receiver.timer)
    receiver.timer = undefined
    while (receiver.waiting.length > 0 && mayGo(receiver)) receiver.waiting.shift()?.(begin(id, receiver))
    const isUnknown = receiver.atOnce === FIRST_AT_ONCE
    if (receiver.inFlight === 0 && (isUnknown || receivers.size > MOST_REMEMBERED)) forget(id)
  }

  const pause = (id: string, receiver: Receiver): void => {
    clearTimeout(receiver.timer)
    receiver.timer = setTimeout(endPause, receiver.pauseMs, id, receiver)
  }

  return {
    take: async (id) => {
      if (isClosed) return undefined
      const receiver = receivers.get(id) ?? newReceiver()
      receivers.set(id, receiver)
      if (mayGo(receiver)) return begin(id, receiver)
      return await new Promise((resolve) => receiver.waiting.push(resolve))
    },
    quick: () => quick,
    close: () => {
      isClosed = true
      for (const receiver of receivers.values()) {
        release(receiver)
        clearTimeout(receiver.timer)
      }
    },
  }
}

const newReceiver = (): Receiver => ({
  inFlight: 0,
  atOnce: FIRST_AT_ONCE,
  pauseMs: 0,
  timer: undefined,
  waiting: [],
})

const mayGo = ({ inFlight, atOnce, timer }: Receiver): boolean => inFlight < atOnce && timer === undefined

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

/**
 * A success allows more at once, a failure half as many; deliveries that wait when the receiver begins to fail are
 * released.
 */
function learn(receiver: Receiver, { succeeded, durationMs }: SlotResult): void {
  const { atOnce, pauseMs } = receiver
  if (!succeeded) {
    if (atOnce === 2) release(receiver)
    receiver.atOnce = Math.ceil(atOnce / 2)
    if (atOnce <= 2) receiver.pauseMs = Math.min(Math.max(pauseMs * 2, FIRST_PAUSE_MS), LONGEST_PAUSE_MS)
    return
  }
  receiver.pauseMs = 0
  if (atOnce < ORDINARY_AT_ONCE) receiver.atOnce = Math.min(atOnce * 2, ORDINARY_AT_ONCE)
  else if (durationMs < QUICK_MS) receiver.atOnce = Math.min(atOnce + 1, MOST_AT_ONCE)
}
