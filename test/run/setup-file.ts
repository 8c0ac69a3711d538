import { afterAll, afterEach, vi } from 'vitest'
import { requireDescribedAnswers } from '../contract/answer-faults.ts'
import { endFile } from '../file-end.ts'
import { fixSeed } from './property-runs.ts'

/** The deadline of a poll for a state ends a run that hangs, and says nothing about speed: a busy machine takes long. */
const PATIENCE_MS = 90_000

const waitFor = vi.waitFor.bind(vi)
vi.waitFor = (callback, options = {}) => {
  const { timeout = 0, interval } = typeof options === 'number' ? { timeout: options } : options
  return waitFor(callback, { timeout: Math.max(timeout, PATIENCE_MS), ...(interval !== undefined && { interval }) })
}

fixSeed()
afterEach(requireDescribedAnswers)
afterAll(async () => {
  await endFile()
  requireDescribedAnswers()
})
