/** Wakes waiting loops in this process; a missed signal only delays work until the next poll. */
export type Signal = { raise(): void; onRaise(listener: () => void): void }

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
