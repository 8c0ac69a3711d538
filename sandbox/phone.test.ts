import { expect, test } from 'vitest'
import { waIdOf } from './phone.ts'

test.each([
  ['+39 333 123 4567', '393331234567'],
  ['5511987654321', '551187654321'],
  ['551187654321', '551187654321'],
  ['5511934567254', '5511934567254'],
  ['5215512345678', '525512345678'],
  ['5491123456789', '541123456789'],
])('%s is known as %s', (requested, waId) => {
  expect(waIdOf(requested)).toBe(waId)
})
