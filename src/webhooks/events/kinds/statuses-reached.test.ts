import { expect, test } from 'vitest'
import { statusesReached } from './message-status.ts'

test.each([
  ['pending', 'sent', true, false, ['sent']],
  ['unknown', 'delivered', true, false, ['sent', 'delivered']],
  ['pending', 'read', true, false, ['sent', 'delivered', 'read']],
  ['sent', 'read', false, false, ['delivered', 'read']],
  ['pending', 'failed', false, false, ['failed']],
  ['unknown', 'failed', true, false, ['sent', 'failed']],
  ['sent', 'failed', false, false, ['failed']],
  ['failed', 'delivered', false, false, ['delivered']],
  ['failed', 'delivered', true, false, ['sent', 'delivered']],
  ['failed', 'failed', true, false, ['sent']],
  ['sent', 'sent', false, false, []],
  ['read', 'delivered', false, false, []],
  ['delivered', 'failed', false, false, []],
  ['pending', 'unknown', false, false, []],
  ['pending', 'delivered', true, true, ['sent', 'failed', 'delivered']],
  ['sent', 'read', false, true, ['failed', 'delivered', 'read']],
])('from %s to %s, sent meanwhile: %s, failed meanwhile: %s, a message reaches %j', (...row) => {
  const [before, after, isFirstSent, hasFailed, reached] = row
  expect(statusesReached({ before, after, failure: hasFailed ? { error: null } : null, isFirstSent })).toEqual(reached)
})
