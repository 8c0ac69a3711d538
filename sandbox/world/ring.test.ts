import { expect, test } from 'vitest'
import { Ring } from './ring.ts'

test('keeps the last items only, newest first', () => {
  const ring = new Ring<number>(3)
  expect(ring.newest(5)).toEqual([])
  ring.add(1)
  ring.add(2)
  expect(ring.newest(5)).toEqual([2, 1])
  for (const item of [3, 4, 5, 6, 7]) ring.add(item)
  expect(ring.size).toBe(3)
  expect(ring.newest(5)).toEqual([7, 6, 5])
  expect(ring.newest(1)).toEqual([7])
  expect(ring.find((item) => item < 7)).toBe(6)
  expect(ring.find((item) => item === 4)).toBeUndefined()
})
