import { expect, onTestFinished, test, vi } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createListener } from './listener.ts'
import { notify } from './notice.ts'

const { db } = await createTestDatabase()

test('a listener that starts again while it stops gets what is published from then on', async () => {
  const onChanges = vi.fn()
  const listener = createListener(db, { onChanges, onGap: () => {} })
  onTestFinished(() => listener.end())
  await listener.start()
  for (let times = 1; times <= 10; times += 1) {
    void listener.end()
    await listener.start()
    await notify(db, '"all"')
    await vi.waitFor(() => expect(onChanges).toHaveBeenCalledTimes(times), { timeout: 90_000 })
  }
})

test('a listener that stops before it has started gets nothing twice when it starts again', async () => {
  const onChanges = vi.fn()
  const listener = createListener(db, { onChanges, onGap: () => {} })
  onTestFinished(() => listener.end())
  const first = listener.start()
  await listener.end()
  await listener.start()
  await notify(db, '"all"')
  await vi.waitFor(() => expect(onChanges).toHaveBeenCalled(), { timeout: 90_000 })
  expect(onChanges).toHaveBeenCalledOnce()
  await first
})
