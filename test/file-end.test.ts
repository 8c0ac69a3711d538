import { expect, test } from 'vitest'
import { atFileEnd, endFile } from './file-end.ts'

test('cleanups run once, the last one first, also after one that fails', async () => {
  const ran: number[] = []
  atFileEnd(() => ran.push(1))
  atFileEnd(() => Promise.reject(new Error('cannot close')))
  atFileEnd(async () => ran.push(3))
  await expect(endFile()).rejects.toThrow('cannot close')
  await endFile()
  expect(ran).toEqual([3, 1])
})
