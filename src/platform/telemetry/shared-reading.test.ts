import { expect, test } from 'vitest'
import { sharedReading } from './shared-reading.ts'

test('parallel readers share one computation, and later ones its result for a second', async () => {
  let now = 0
  const computations: PromiseWithResolvers<string>[] = []
  const read = sharedReading(
    () => {
      const computation = Promise.withResolvers<string>()
      computations.push(computation)
      return computation.promise
    },
    { nowMs: () => now },
  )
  const readers = [read(), read(), read(), read()]
  now = 5_000
  readers.push(read())
  expect(computations).toHaveLength(1)
  computations[0]!.resolve('first')
  expect(new Set(await Promise.all(readers))).toEqual(new Set(['first']))
  const second = read()
  now += 999
  expect(read()).toBe(second)
  computations[1]!.reject(new Error('failed'))
  await expect(second).rejects.toThrow('failed')
  await expect(read()).rejects.toThrow('failed')
  now += 1
  const third = read()
  computations[2]!.resolve('third')
  expect(await third).toBe('third')
  expect(computations).toHaveLength(3)
})
