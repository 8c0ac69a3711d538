import { LRUCache } from 'lru-cache'
import { maxEntries } from './cache-bound.ts'

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
