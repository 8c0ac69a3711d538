import { expect, test } from 'vitest'
import { isInstant, parseInstant } from './instant.ts'

test.each(['1970-01-01T00:00:00Z', '2026-11-29T06:00:00.5+01:00', '9999-12-31T23:59:59Z'])('%s is an instant', (text) =>
  expect(isInstant(text)).toBe(true))

test.each([
  '0000-01-01T00:00:00Z',
  '1969-12-31T23:59:59Z',
  '9999-12-31T23:59:59-01:00',
  '10000-01-01T00:00:00Z',
  '-000001-01-01T00:00:00Z',
  '2026-02-30T00:00:00Z',
  '2030-12-31T23:59:60Z',
  '2026-11-29T06:00:00',
  '2026-11-29',
  '1700000000',
  '',
])('%s is none', (text) => expect(isInstant(text)).toBe(false))

test('a date is midnight in UTC, within the same years', () => {
  expect(parseInstant('2026-11-29')).toEqual(new Date('2026-11-29T00:00:00Z'))
  expect([parseInstant('0000-01-01'), parseInstant('1969-12-31')]).toEqual([undefined, undefined])
})
