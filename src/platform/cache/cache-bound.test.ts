import { LRUCache } from 'lru-cache'
import { expect, test } from 'vitest'
import { maxEntries } from './cache-bound.ts'

test('a cache drops the entry that was used longest ago when it has too many', () => {
  const cache = new LRUCache<string, object>(maxEntries(2))
  cache.set('a', {})
  cache.set('b', {})
  cache.get('a')
  cache.set('c', {})
  expect([...cache.keys()]).toEqual(['c', 'a'])
})

test('values that are still being loaded count, too', async () => {
  const cache = new LRUCache<string, object>({
    ...maxEntries(2),
    fetchMethod: async (key) => ({ key }),
    ignoreFetchAbort: true,
  })
  const loading = ['a', 'b', 'c'].map((key) => cache.fetch(key))
  expect(cache.size).toBe(2)
  await Promise.all(loading)
  expect(cache.size).toBeLessThanOrEqual(2)
})
