import { LRUCache } from 'lru-cache'
import { monotonicMs } from './clock.ts'

/** Bounds an LRU cache by entries. `max` would allocate all places at once: half a megabyte for 10,000. */
export const maxEntries = (count: number): { maxSize: number; sizeCalculation: () => number } => ({
  maxSize: count,
  sizeCalculation: () => 1,
})

type PromiseCache<Key, Value> = {
  get(key: Key, load: () => Promise<Value>): Promise<Value>
  drop(key: Key): void
  clear(): void
}

/** `drop` and `clear` during a load neither fail its callers nor keep the result; failures are not kept. */
export function createPromiseCache<Key extends string | number, Value>(limits: {
  max: number
  ttlMs: number
}): PromiseCache<Key, Value> {
  const held = new LRUCache<Key, Promise<Value>>({ ...maxEntries(limits.max), ttl: limits.ttlMs })

  const keep = (key: Key, loading: Promise<Value>): Promise<Value> => {
    held.set(key, loading)
    loading.catch(() => {
      if (held.peek(key) === loading) held.delete(key)
    })
    return loading
  }

  return {
    get: (key, load) => held.get(key) ?? keep(key, load()),
    drop: (key) => {
      held.delete(key)
    },
    clear: () => held.clear(),
  }
}

/** Returns a function for the value of the last read, which began less than `ms` ago. Callers share a read; failures are not kept. */
export function refreshed<Value>(read: () => Promise<Value>, ms: number): () => Value | Promise<Value> {
  let last: { value: Value; untilMs: number } | undefined
  let reading: Promise<Value> | undefined
  const readAgain = async (): Promise<Value> => {
    const untilMs = monotonicMs() + ms
    const value = await read()
    last = { value, untilMs }
    return value
  }
  return () => {
    if (last !== undefined && monotonicMs() < last.untilMs) return last.value
    reading ??= readAgain().finally(() => {
      reading = undefined
    })
    return reading
  }
}
