import { expect, onTestFinished, test, vi } from 'vitest'
import { cacheCounts, createCache, refreshed } from './cache.ts'

const loaded = (value: string) => Promise.resolve(value)

test('a cache drops the entry that was used longest ago when it has too many', () => {
  const cache = createCache<string, string>({ name: 'test', max: 2 })
  for (const key of ['a', 'b']) cache.set(key, key)
  cache.find('a')
  cache.set('c', 'c')
  expect(cache.entries().map(([key]) => key)).toEqual(['c', 'a'])
})

test('a bound of sizes counts what the entries take', () => {
  const cache = createCache<string, string>({ name: 'test', max: 5, sizeOf: (text) => text.length })
  for (const text of ['abc', 'de', 'f']) cache.set(text, text)
  expect(cache.entries().map(([key]) => key)).toEqual(['f', 'de'])
})

test('entries end with their age, and tell that they were dropped', () => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const dropped: string[] = []
  const cache = createCache<string, string>({
    name: 'test',
    max: 2,
    ttlMs: 1_000,
    onDrop: (value) => dropped.push(value),
  })
  // lru-cache takes a start at 0 for none.
  vi.advanceTimersByTime(1)
  cache.set('a', 'A')
  vi.advanceTimersByTime(900)
  expect(cache.find('a')).toBe('A')
  vi.advanceTimersByTime(200)
  expect(cache.find('a')).toBeUndefined()
  cache.set('b', 'B')
  cache.drop()
  expect(dropped).toEqual(['A', 'B'])
})

test('callers at the same time share a load, and loading entries count', async () => {
  const cache = createCache<string, Promise<string>>({ name: 'test', max: 2 })
  const first = cache.get('a', () => loaded('a'))
  expect(cache.get('a', () => loaded('other'))).toBe(first)
  for (const key of ['b', 'c']) void cache.get(key, () => loaded(key))
  expect(cache.entries()).toHaveLength(2)
})

test('a load that fails or is dropped is not kept, and a dropped one serves its callers', async () => {
  const cache = createCache<string, Promise<string>>({ name: 'test', max: 2 })
  await expect(cache.get('a', () => Promise.reject(new Error('down')))).rejects.toThrow('down')
  const early = cache.get('a', () => loaded('early'))
  cache.drop('a')
  expect(await cache.get('a', () => loaded('late'))).toBe('late')
  expect(await early).toBe('early')
})

test('a dropped load that fails does not drop its successor', async () => {
  const cache = createCache<string, Promise<string>>({ name: 'test', max: 2 })
  const early = cache.get('a', () => Promise.reject(new Error('down')))
  cache.drop('a')
  const late = cache.get('a', () => loaded('late'))
  await expect(early).rejects.toThrow('down')
  expect(cache.find('a')).toBe(late)
})

test('a cache counts its entries, hits and misses', () => {
  const cache = createCache<string, string>({ name: 'counted', max: 2 })
  for (const key of ['a', 'a', 'b']) cache.get(key, () => key)
  expect(new Map(cacheCounts()).get('counted')).toEqual({ entries: 2, hits: 1, misses: 2 })
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

test('a dropped value is read again, also while a read runs', async () => {
  const reads: PromiseWithResolvers<string>[] = []
  const value = refreshed(() => {
    reads.push(Promise.withResolvers<string>())
    return reads.at(-1)!.promise
  }, 1_000)
  const early = value()
  value.drop()
  const late = value()
  reads[1]?.resolve('late')
  expect(await late).toBe('late')
  reads[0]?.resolve('early')
  expect(await early).toBe('early')
  expect(value()).toBe('late')
})
