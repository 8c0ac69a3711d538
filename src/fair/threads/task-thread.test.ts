import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { programFile } from '../../platform/program-file.ts'
import { createTaskThread, restAfter } from './task-thread.ts'

type Filled = { subject: string; html: string; text: null }
type Echo = { render: (input: { parts: Filled; values: object }) => { rendered: Filled } }
const options = {
  program: programFile('src/emails/rendering/mail-program.ts'),
  limitsMs: { render: 3_000 },
  memory: {},
}

const filled = (word: string) => ({ parts: { subject: 's', html: '{{ word }}', text: null }, values: { word } })

test('a thread rests after a task; its result does not wait for the rest, the next task does', async () => {
  const rests: number[] = []
  const restMs = (tookMs: number): number => {
    rests.push(tookMs)
    return rests.length === 1 ? 0 : 1e8
  }
  const run = createTaskThread<Echo>({ ...options, restMs })
  expect(await run(1, 'render', filled('one'))).toEqual({ rendered: { subject: 's', html: 'one', text: null } })
  expect(await run(1, 'render', filled('two'))).toEqual({ rendered: { subject: 's', html: 'two', text: null } })
  const waits = Symbol('waits')
  expect(await Promise.race([run(2, 'render', filled('three')), sleep(200, waits)])).toBe(waits)
})

test('a rest grows with the square of the time that the task took, up to a bound', () => {
  expect([0, 1, 10, 25, 100, 1_000].map(restAfter)).toEqual([0, 0.1, 10, 62.5, 1_000, 1_500])
})
