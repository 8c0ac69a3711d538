/** Wakes the waiting loops of this process when work arrives; a loop that misses a signal finds the work at its next poll. */
export type Signal = { raise(): void; onRaise(listener: () => void): void }

/** Calls listeners in this process, in the order in which they were added. */
export function createSignal(): Signal {
  const listeners: (() => void)[] = []
  return {
    raise: () => {
      for (const listener of listeners) listener()
    },
    onRaise: (listener) => {
      listeners.push(listener)
    },
  }
}
