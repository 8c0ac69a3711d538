import { expect, test } from 'vitest'
import { eventTime } from './decide-inbound.ts'

const ARRIVED = new Date('2026-03-02T09:30:00.700Z')

test.each([
  ['is the reported time', '2026-03-02T09:29:59.000Z', '2026-03-02T09:29:59.000Z'],
  [
    'is the second of the arrival when the provider is a minute ahead',
    '2026-03-02T09:31:00.000Z',
    '2026-03-02T09:30:00.000Z',
  ],
  [
    'is the second of the arrival when the provider is a day ahead',
    '2026-03-03T09:30:00.000Z',
    '2026-03-02T09:30:00.000Z',
  ],
  ['is the arrival when the provider reports no time', null, '2026-03-02T09:30:00.700Z'],
])('the time of an event %s', (_, reported, expected) => {
  expect(eventTime(reported === null ? null : new Date(reported), ARRIVED)).toEqual(new Date(expected))
})
