import { expect, test } from 'vitest'
import { describe as describeFailure, MODELS, runAll } from './run-all.ts'

/** A short `npm run model`: the same histories every time. New ones are the command's: chance never decides these tests. */
const FIXED_SEED = 20_261_123
const HISTORIES = 40

test('the service does what the models of the contract do', async () => {
  const failures = await runAll(MODELS, { histories: HISTORIES, seed: FIXED_SEED })
  expect(failures.map(describeFailure).join('\n')).toBe('')
}, 1_200_000)
