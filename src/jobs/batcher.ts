export type Batcher<T> = {
  /** Fulfilled when the item has been written, or given up. Never rejected. */
  add(item: T): Promise<void>
}

/**
 * Writes items many at a time: the first at once, those that come meanwhile together in the next call. `write` must
 * not throw.
 */
export function createBatcher<T>(write: (items: T[]) => Promise<void>, most: number): Batcher<T> {
  let waiting: { item: T; written: () => void }[] = []
  let isWriting = false

  const writeAll = async () => {
    isWriting = true
    // What ends in this turn of the event loop goes together.
    await new Promise<void>((next) => setImmediate(next))
    while (waiting.length > 0) {
      const batch = waiting.slice(0, most)
      waiting = waiting.slice(most)
      await write(batch.map(({ item }) => item))
      for (const { written } of batch) written()
    }
    isWriting = false
  }

  return {
    add: (item) =>
      new Promise((written) => {
        waiting.push({ item, written })
        if (!isWriting) void writeAll()
      }),
  }
}
