import { expect, test } from 'vitest'
import { statusesReached } from './message-status.ts'

test.each([
  ['pending', 'sent', false, ['sent']],
  ['unknown', 'delivered', false, ['sent', 'delivered']],
  ['pending', 'read', false, ['sent', 'delivered', 'read']],
  ['sent', 'read', false, ['delivered', 'read']],
  ['sent', 'failed', false, ['failed']],
  ['failed', 'delivered', false, ['delivered']],
  ['sent', 'sent', false, []],
  ['read', 'delivered', false, []],
  ['delivered', 'failed', false, []],
  ['pending', 'unknown', false, []],
  ['pending', 'delivered', true, ['sent', 'failed', 'delivered']],
  ['sent', 'read', true, ['failed', 'delivered', 'read']],
])('a message that goes from %s to %s, a failure between them: %s, has reached %j', (before, after, hasFailed, reached) => {
  expect(statusesReached(before, after, hasFailed)).toEqual(reached)
})
