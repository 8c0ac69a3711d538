import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startUpserts } from '../../../test/contacts/upsert-world.ts'

const { db, newCompany, checkHouse, upsert } = await startUpserts()

test('many large arrays at once hold no more locks than one of them needs', { timeout: 600_000 }, async () => {
  const companyId = await newCompany()
  const arrays = Array.from({ length: 6 }, (_, array) =>
    Array.from({ length: 1000 }, (_, i) => ({
      email: `l${array % 2}-${i}@x.org`,
      phone: `3934${array % 3}000${1000 + i}`,
    })),
  )
  let most = 0
  let isDone = false
  const watch = (async () => {
    while (!isDone) {
      const [row] = await db<{ held: number }[]>`select count(*) as held from pg_locks where locktype = 'advisory'`
      most = Math.max(most, row!.held)
      await sleep(20)
    }
  })()
  const answers = await Promise.all(arrays.map((writes, index) => upsert(companyId, index, writes))).finally(() => {
    isDone = true
    return watch
  })
  expect(answers.map((answer) => answer.length)).toEqual(arrays.map(() => 1000))
  expect(most).toBeGreaterThan(0)
  expect(most).toBeLessThan(5000)
  await checkHouse(companyId)
})
