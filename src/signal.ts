/** Tells those in this process who wait for work that some has come; who does not listen misses nothing but time. */
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
