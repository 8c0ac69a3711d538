/** Attempts in flight at most, per registration and process. */
const MOST_AT_ONCE = 20
/** After so many failures in a row a receiver counts as dead: it is tried by one attempt at a time until one succeeds. */
const FAILURES_OF_THE_DEAD = 10

export type Turn = {
  /** Ends the turn; undefined when the attempt says nothing about the receiver. */
  end(succeeded: boolean | undefined): void
}

export type ReceiverTurns = {
  /** Fulfilled when the registration may be called once more; with undefined when there are no turns any longer. */
  take(registrationId: number): Promise<Turn | undefined>
  /** Sends those who wait away, and all who come. */
  close(): void
}

type Receiver = { inFlight: number; failures: number; waiting: ((turn: Turn | undefined) => void)[] }

/**
 * Says when a receiver is called: as many attempts at once as it can stand, and one at a time while it is dead. What
 * waits here holds no connection; it has not begun, so it costs its own receiver time and nobody else anything.
 */
export function createReceiverTurns(): ReceiverTurns {
  const receivers = new Map<number, Receiver>()
  let isClosed = false

  const mayGo = ({ inFlight, failures }: Receiver) => inFlight < (failures >= FAILURES_OF_THE_DEAD ? 1 : MOST_AT_ONCE)

  const begin = (id: number, receiver: Receiver): Turn => {
    receiver.inFlight += 1
    return {
      end: (succeeded) => {
        receiver.inFlight -= 1
        if (succeeded !== undefined) receiver.failures = succeeded ? 0 : receiver.failures + 1
        while (receiver.waiting.length > 0 && mayGo(receiver)) receiver.waiting.shift()?.(begin(id, receiver))
        // Only those that failed last are remembered.
        if (receiver.inFlight === 0 && receiver.failures === 0) receivers.delete(id)
      },
    }
  }

  return {
    take: async (id) => {
      if (isClosed) return undefined
      const receiver = receivers.get(id) ?? { inFlight: 0, failures: 0, waiting: [] }
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
