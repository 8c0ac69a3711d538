import { LRUCache } from 'lru-cache'
import { monotonicMs } from './clock.ts'

export type Cache<Key, Value> = {
  /** Returns the entry, made if missing. Rejected promises are not kept. */
  get(key: Key, make: () => Value): Value
  find(key: Key): Value | undefined
  set(key: Key, value: Value): void
  /** Drops an entry, or all. One that is still loading serves its callers and is not kept. */
  drop(key?: Key): void
  entries(): [Key, Value][]
}

type CacheOptions<Key, Value> = {
  /** Labels the metrics. */
  name: string
  /** In entries, or in units of `sizeOf`. The entry unused for the longest time goes first. */
  max: number
  sizeOf?: (value: Value, key: Key) => number
  /** Counted from when the entry was set. */
  ttlMs?: number
  onDrop?: (value: Value) => void
}

type CacheCounts = { entries: number; hits: number; misses: number }

const countsOf = new Map<string, () => CacheCounts>()

/** Creates a cache in this thread's memory. Metrics show the newest one of each name. */
export function createCache<Key extends string | number, Value extends {}>(
  options: CacheOptions<Key, Value>,
): Cache<Key, Value> {
  const { name, max, sizeOf = () => 1, ttlMs = 0, onDrop } = options
  // Not lru-cache's `max`, which allocates all places at once: half a megabyte for 10,000.
  const held = new LRUCache<Key, Value>({
    maxSize: max,
    sizeCalculation: sizeOf,
    ttl: ttlMs,
    perf: { now: monotonicMs },
    ...(onDrop && { dispose: onDrop }),
  })
  let [hits, misses] = [0, 0]
  countsOf.set(name, () => ({ entries: held.size, hits, misses }))

  const find = (key: Key): Value | undefined => {
    const value = held.get(key)
    if (value === undefined) misses += 1
    else hits += 1
    return value
  }
  const add = (key: Key, value: Value): Value => {
    held.set(key, value)
    if (value instanceof Promise) {
      value.catch(() => {
        if (held.peek(key) === value) held.delete(key)
      })
    }
    return value
  }
  return {
    get: (key, make) => find(key) ?? add(key, make()),
    find,
    set: (key, value) => void held.set(key, value),
    drop: (key) => void (key === undefined ? held.clear() : held.delete(key)),
    entries: () => [...held.entries()],
  }
}

/** Returns the counts of this thread's caches by name. */
export const cacheCounts = (): [string, CacheCounts][] => [...countsOf].map(([name, count]) => [name, count()])

type Refreshed<Value> = {
  (): Value | Promise<Value>
  /** Later calls read again. */
  drop(): void
}

/** Returns a function for the value of the last read, which began less than `ms` ago. Callers share a read; failures are not kept. */
export function refreshed<Value>(read: () => Promise<Value>, ms: number): Refreshed<Value> {
  let last: { value: Value; untilMs: number } | undefined
  let reading: Promise<Value> | undefined
  const readAgain = (): Promise<Value> => {
    const untilMs = monotonicMs() + ms
    const started = read().then(
      (value) => {
        if (reading === started) [last, reading] = [{ value, untilMs }, undefined]
        return value
      },
      (error) => {
        if (reading === started) reading = undefined
        throw error
      },
    )
    reading = started
    return started
  }
  const current = () => (last !== undefined && monotonicMs() < last.untilMs ? last.value : (reading ?? readAgain()))
  const drop = () => {
    last = undefined
    reading = undefined
  }
  return Object.assign(current, { drop })
}
