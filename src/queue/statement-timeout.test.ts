import { expect, test } from 'vitest'
import { withStatementTimeout } from './job-store.ts'

test('a result within the timeout is returned, also when it is an error', async () => {
  expect(await withStatementTimeout(Promise.resolve(7))).toBe(7)
  await expect(withStatementTimeout(Promise.reject(new Error('refused')))).rejects.toThrow('refused')
})

test('a result after the timeout is an error', async () => {
  await expect(withStatementTimeout(new Promise(() => {}), 10)).rejects.toThrow('The database gave no answer in 10 ms')
})
