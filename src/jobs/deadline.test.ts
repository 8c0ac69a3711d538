import { expect, test } from 'vitest'
import { withDeadline } from './deadline.ts'

test('what comes in time is passed on, also when it is an error', async () => {
  expect(await withDeadline(Promise.resolve(7))).toBe(7)
  await expect(withDeadline(Promise.reject(new Error('refused')))).rejects.toThrow('refused')
})

test('what does not come in time is an error', async () => {
  await expect(withDeadline(new Promise(() => {}), 10)).rejects.toThrow('The database gave no answer in 10 ms')
})
