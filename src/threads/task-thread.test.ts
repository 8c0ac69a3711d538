import { expect, test } from 'vitest'
import { programFile } from '../program-file.ts'
import { createTaskThread } from './task-thread.ts'

type Echo = { plainText: (input: { html: string }) => string | null }
const options = {
  program: programFile('src/emails/rendering/mail-program.ts'),
  limitsMs: { plainText: 3_000 },
  memory: {},
}

test('a thread rests after a task; its result does not wait for the rest, the next task does', async () => {
  const rests: number[] = []
  const restMs = (tookMs: number): number => {
    rests.push(tookMs)
    return rests.length === 1 ? 0 : 1e8
  }
  const run = createTaskThread<Echo>({ ...options, restMs, maxWaiting: 10, maxWaitMs: 100 })
  expect(await run(1, 'plainText', { html: '<p>one</p>' })).toBe('one')
  expect(await run(1, 'plainText', { html: '<p>two</p>' })).toBe('two')
  await expect(run(2, 'plainText', { html: '<p>three</p>' })).rejects.toMatchObject({ status: 503 })
  expect(rests).toHaveLength(2)
})
