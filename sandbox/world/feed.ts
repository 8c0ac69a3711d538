/** An event in the world, which the phone page shows. */
export type Happening =
  | { type: 'written'; message: WrittenLine }
  | { type: 'message'; wamid: string }
  | { type: 'status'; wamid: string; status: string }
  | { type: 'request'; receiver: string }
  | { type: 'email' }

/** A line that a customer wrote to a number. */
export type WrittenLine = {
  wamid: string
  phoneNumberId: string
  from: string
  text: string
  /** Of the message that it answers. */
  quotedWamid: string | undefined
  at: Date
}

export type Feed = {
  publish(happening: Happening): void
  /** Returns a function that ends the subscription. */
  subscribe(listener: (happening: Happening) => void): () => void
}

/** Subscribers that are served at once; a further one is refused by the stream. */
export const MOST_SUBSCRIBERS = 50

/** Passes everything that happens on to the open streams. It keeps nothing for later ones. */
export function createFeed(): Feed & { size(): number } {
  const listeners = new Set<(happening: Happening) => void>()
  return {
    publish: (happening) => {
      for (const listener of listeners) listener(happening)
    },
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    size: () => listeners.size,
  }
}
