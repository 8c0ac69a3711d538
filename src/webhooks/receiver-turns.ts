/** Attempts in flight at first, per registration and process; a receiver that answers quickly gets more and more. */
const FIRST_AT_ONCE = 20
const MOST_AT_ONCE = 64
/** An answer after this time is no reason to ask for more at once. */
const QUICK_MS = 1_000
/** After so many failures in a row a receiver counts as dead: it is tried by one attempt at a time until one succeeds. */
const FAILURES_OF_THE_DEAD = 10

/** How an attempt ended, as far as it says something about the receiver. */
export type TurnEnd = { succeeded: boolean; durationMs: number }

export type Turn = {
  /** Ends the turn; undefined when the attempt says nothing about the receiver. */
  end(how: TurnEnd | undefined): void
}

export type ReceiverTurns = {
  /** Fulfilled when the registration may be called once more; with undefined when there are no turns any longer. */
  take(registrationId: number): Promise<Turn | undefined>
  /** Sends those who wait away, and all who come. */
  close(): void
}

type Receiver = { inFlight: number; atOnce: number; failures: number; waiting: ((turn: Turn | undefined) => void)[] }

/**
 * Says when a receiver is called: as many attempts at once as it can stand, and one at a time while it is dead. What
 * waits here holds no connection; it has not begun, so it costs its own receiver time and nobody else anything.
 */
export function createReceiverTurns(): ReceiverTurns {
  const receivers = new Map<number, Receiver>()
  let isClosed = false

  const begin = (id: number, receiver: Receiver): Turn => {
    receiver.inFlight += 1
    return {
      end: (how) => {
        receiver.inFlight -= 1
        if (how !== undefined) learn(receiver, how)
        while (receiver.waiting.length > 0 && mayGo(receiver)) receiver.waiting.shift()?.(begin(id, receiver))
        // Only those that failed last are remembered.
        if (receiver.inFlight === 0 && receiver.failures === 0) receivers.delete(id)
      },
    }
  }

  return {
    take: async (id) => {
      if (isClosed) return undefined
      const receiver = receivers.get(id) ?? { inFlight: 0, atOnce: FIRST_AT_ONCE, failures: 0, waiting: [] }
      receivers.set(id, receiver)
      if (mayGo(receiver)) return begin(id, receiver)
      return await new Promise((resolve) => receiver.waiting.push(resolve))
    },
    close: () => {
      isClosed = true
      for (const { waiting } of receivers.values()) for (const sendAway of waiting.splice(0)) sendAway(undefined)
    },
  }
}

const mayGo = ({ inFlight, atOnce, failures }: Receiver): boolean =>
  inFlight < (failures >= FAILURES_OF_THE_DEAD ? 1 : atOnce)

/** A quick success allows one more at once, a failure half as many. */
function learn(receiver: Receiver, { succeeded, durationMs }: TurnEnd): void {
  receiver.failures = succeeded ? 0 : receiver.failures + 1
  if (!succeeded) receiver.atOnce = Math.max(Math.ceil(receiver.atOnce / 2), FIRST_AT_ONCE)
  else if (durationMs < QUICK_MS) receiver.atOnce = Math.min(receiver.atOnce + 1, MOST_AT_ONCE)
}
