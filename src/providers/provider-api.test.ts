import { describe, expect, test } from 'vitest'
import type { SendOutcome } from './provider.ts'
import { createBreaker } from './provider-api.ts'

const error = { code: null, title: 'down', details: null }
const down: SendOutcome = { kind: 'unreachable', error }
const refused: SendOutcome = { kind: 'refused', reason: 'other', error }
const accepted: SendOutcome = {
  kind: 'accepted',
  wamid: 'w',
  providerMessageId: null,
  input: null,
  waId: null,
  userId: null,
}

describe('the breaker of a sender', () => {
  test('opens after ten failures in a row, and closes when the provider answers again', async () => {
    const breaker = createBreaker()
    let attempts = 0
    const attempt = (outcome: SendOutcome) =>
      breaker.run({ companyId: 1, id: 1 }, async () => {
        attempts += 1
        return { outcome }
      })
    for (let failure = 0; failure < 10; failure++) await attempt(down)
    expect(await attempt(accepted)).toBeUndefined()
    expect(attempts).toBe(10)
    const others = [
      { companyId: 1, id: 2 },
      { companyId: 2, id: 1 },
    ]
    for (const other of others) expect(await breaker.run(other, async () => ({ outcome: accepted }))).toBeDefined()

    await expect.poll(() => attempt(accepted), { interval: 100 }).toEqual({ outcome: accepted })
    expect(await attempt(accepted)).toEqual({ outcome: accepted })
    expect(attempts).toBe(12)
  })

  test('does not open for refusals, nor for failures between which something went through', async () => {
    const breaker = createBreaker()
    const attempt = (outcome: SendOutcome) => breaker.run({ companyId: 1, id: 1 }, async () => ({ outcome }))
    for (let count = 0; count < 30; count++) expect(await attempt(refused)).toBeDefined()
    for (let count = 0; count < 30; count++) expect(await attempt(count % 9 === 0 ? accepted : down)).toBeDefined()
  })
})
