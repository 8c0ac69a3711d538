import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { createUnorderedList, type UnorderedItem } from './unordered-list.ts'

test('an item is in the list until it is deleted, whatever else comes and goes', () => {
  const list = createUnorderedList<UnorderedItem & { name: string }>()
  const [a, b, c] = [{ name: 'a' }, { name: 'b' }, { name: 'c' }]
  for (const item of [a, b, c]) list.add(item)
  const names = () => [...list].map(({ name }) => name).sort()
  expect([list.size, names()]).toEqual([3, ['a', 'b', 'c']])
  expect([list.delete(a), list.delete(a)]).toEqual([true, false])
  expect([list.size, names()]).toEqual([2, ['b', 'c']])
  expect([list.delete(c), list.delete(b), list.delete(b)]).toEqual([true, true, false])
  expect([list.size, names()]).toEqual([0, []])
  list.add(a)
  expect([list.size, names(), list.delete({ name: 'a' })]).toEqual([1, ['a'], false])
})

test('an iteration visits each item once, also when the current one is deleted and others are added', () => {
  const list = createUnorderedList<UnorderedItem & { n: number }>()
  for (let n = 0; n < 10; n += 1) list.add({ n })
  const seen: number[] = []
  for (const item of list) {
    seen.push(item.n)
    if (item.n % 2 === 0) list.delete(item)
    if (item.n === 5) list.add({ n: 100 })
  }
  expect(seen.sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  expect([...list].map(({ n }) => n).sort((a, b) => a - b)).toEqual([1, 3, 5, 7, 9, 100])
})

const PROGRAM = fileURLToPath(new URL('../../test/schema/churn-program.ts', import.meta.url))
const promotedWith = (held: 'list' | 'set'): number =>
  Number(execFileSync(process.execPath, [PROGRAM, held], { encoding: 'utf8' }))

test('items do not survive into the old generation, as they do in a set', () => {
  expect(promotedWith('list')).toBeLessThan(5_000_000)
  expect(promotedWith('set')).toBeGreaterThan(20_000_000)
})
