import { expect, onTestFinished, test, vi } from 'vitest'
import type { LiveChange } from '../changes/live-change.ts'
import { createCollector, parseNotice } from './notice.ts'

const messages = (companyId: number, count: number): LiveChange[] =>
  Array.from({ length: count }, (_, n) => ({ topic: 'message', companyId, id: n + 1 }))

/** Parses the notice like another process. */
function passed(...changes: LiveChange[]) {
  const collector = createCollector()
  collector.add(changes)
  const text = collector.take()!
  expect(Buffer.byteLength(text)).toBeLessThan(8_000)
  expect(collector.isEmpty()).toBe(true)
  return parseNotice(text)
}

test('a notice names each change once, also together with a reason to read again', () => {
  const changes = passed(
    { topic: 'message', companyId: 1, id: 7 },
    { topic: 'message', companyId: 1, id: 7 },
    { topic: 'all', companyId: 1 },
    { topic: 'answering', companyId: 1, chatId: 9, name: 'Ada' },
    { topic: 'contact', companyId: 2, id: 3 },
  )
  expect(changes).toEqual(
    new Map<number, object>([
      [1, { message: [7], all: [], answering: [[9, 'Ada']] }],
      [2, { contact: [3] }],
    ]),
  )
})

test('a company with many changes takes no names from another', () => {
  for (const count of [450, 5_000]) {
    const changes = passed(...messages(1, count), ...messages(2, 60))
    expect(changes).toEqual(
      new Map<number, unknown>([
        [1, 'all'],
        [2, { message: Array.from({ length: 60 }, (_, n) => n + 1) }],
      ]),
    )
  }
})

test('long names and many companies fit in a notification', () => {
  const name = 'x'.repeat(100)
  const answering = Array.from(
    { length: 100 },
    (_, chatId): LiveChange => ({ topic: 'answering', companyId: 1, chatId, name }),
  )
  expect(passed(...answering)).toEqual(new Map([[1, 'all']]))
  const many = passed(...Array.from({ length: 499 }, (_, n) => messages(n + 1, 2)).flat())
  expect([...many]).toHaveLength(499)
  expect(passed(...Array.from({ length: 501 }, (_, n) => messages(n, 1)).flat())).toBe('all')
})

test('the changes of each company are written once, even if most do not fit', () => {
  const stringify = vi.spyOn(JSON, 'stringify')
  onTestFinished(() => stringify.mockRestore())
  const changes = passed(...Array.from({ length: 400 }, (_, n) => messages(1_000_000 + n, 1)).flat())
  expect([...changes].filter(([, changed]) => changed !== 'all').length).toBeGreaterThan(10)
  const written = stringify.mock.results.map(({ value }) => String(value).length)
  expect(written.reduce((sum, length) => sum + length, 0)).toBeLessThan(20_000)
})

test.each([
  '',
  '{',
  'null',
  '{"1":{"message":"x"}}',
  '{"1":7}',
])('a notice that cannot be read (%s) stands for any change', (text) => {
  expect(parseNotice(text)).toBe('all')
})
