import { expect, test } from 'vitest'
import { statusesReached } from './message-status.ts'

test.each([
  ['pending', 'sent', ['sent']],
  ['unknown', 'delivered', ['sent', 'delivered']],
  ['pending', 'read', ['sent', 'delivered', 'read']],
  ['sent', 'read', ['delivered', 'read']],
  ['sent', 'failed', ['failed']],
  ['failed', 'delivered', ['delivered']],
  ['sent', 'sent', []],
  ['read', 'delivered', []],
  ['delivered', 'failed', []],
  ['pending', 'unknown', []],
])('a message that goes from %s to %s has reached %j', (before, after, reached) => {
  expect(statusesReached(before, after)).toEqual(reached)
})
