import { expect, test } from 'vitest'
import { createCompanySlots } from './fair-pool.ts'

const LIMITS = { slots: 3, maxWaiting: 900, maxWaitMs: 20_000, maxHeavyWaitMs: 20_000 }

test('serves the next request if the callers before it are gone', async () => {
  const { run } = createCompanySlots(LIMITS)
  const request = { companyId: 1, isHeavy: true, isAwaited: () => true }
  const { promise: opened, resolve: open } = Promise.withResolvers<void>()
  const first = run(request, () => opened)
  const gone = [1, 2, 3].map(() => run({ ...request, isAwaited: () => false }, async () => 'never'))
  const late = run(request, async () => 'done')
  open()
  await first
  for (const one of gone) await expect(one).rejects.toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
  // With nothing running, only this end could have started it.
  expect(await Promise.race([late, new Promise((resolve) => setImmediate(resolve, 'still waiting'))])).toBe('done')
})
