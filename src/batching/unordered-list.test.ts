import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { promotedBy } from '../../test/schema/promoted.ts'
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

type Held = { add(item: object): void; delete(item: object): void }

/** So many items come and go, three at a time. */
function churn(held: Held, count: number, afterSome: () => void = () => {}): void {
  const there: object[] = []
  for (let n = 0; n < count; n += 1) {
    const item = { all: Array.from({ length: 100 }, (_, i) => [n + i]) }
    held.add(item)
    if (there.push(item) > 3) held.delete(there.shift() ?? item)
    if (n === 100) afterSome()
  }
  for (const item of there) held.delete(item)
}

/** Bytes that grow old with items, once what held the first of them is old. */
function promotedWith(held: Held): Promise<number> {
  setFlagsFromString('--expose-gc')
  churn(held, 1_000, runInNewContext('gc'))
  return promotedBy(() => churn(held, 20_000))
}

test('items do not survive into the old generation, as they do in a set', async () => {
  expect(await promotedWith(createUnorderedList())).toBeLessThan(5_000_000)
  expect(await promotedWith(new Set())).toBeGreaterThan(20_000_000)
})
