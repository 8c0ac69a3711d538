import { expect, onTestFinished, test, vi } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createListener } from './listener.ts'
import { notify } from './live-store.ts'

const { db } = await createTestDatabase()

test('a listener that begins again while it ends hears what is told from then on', async () => {
  const onChanges = vi.fn()
  const listener = createListener(db, { onChanges, onGap: () => {} })
  onTestFinished(() => listener.end())
  await listener.start()
  for (let times = 1; times <= 10; times += 1) {
    void listener.end()
    await listener.start()
    await notify(db, '"all"')
    await vi.waitFor(() => expect(onChanges).toHaveBeenCalledTimes(times), { timeout: 10_000 })
  }
})

test('a listener that ends before it has begun hears nothing twice when it begins again', async () => {
  const onChanges = vi.fn()
  const listener = createListener(db, { onChanges, onGap: () => {} })
  onTestFinished(() => listener.end())
  const first = listener.start()
  await listener.end()
  await listener.start()
  await notify(db, '"all"')
  await vi.waitFor(() => expect(onChanges).toHaveBeenCalled(), { timeout: 10_000 })
  expect(onChanges).toHaveBeenCalledOnce()
  await first
})
