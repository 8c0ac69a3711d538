import { LRUCache } from 'lru-cache'
import { expect, onTestFinished, test, vi } from 'vitest'
import { maxEntries, refreshed } from './cache.ts'

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

test('a refreshed value is read once for all callers, and again after its time', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  let reads = 0
  const value = refreshed(async () => ++reads, 1_000)
  expect(await Promise.all([value(), value()])).toEqual([1, 1])
  vi.advanceTimersByTime(999)
  expect(value()).toBe(1)
  vi.advanceTimersByTime(1)
  expect(await value()).toBe(2)
})

test('a failed read is not kept', async () => {
  let isDown = true
  const value = refreshed(async () => {
    if (isDown) throw new Error('down')
    return 'up'
  }, 1_000)
  await expect(value()).rejects.toThrow('down')
  isDown = false
  expect(await value()).toBe('up')
})
