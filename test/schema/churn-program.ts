/**
 * Prints the bytes that grow old while items come to a collection and go, once what held the first of them is old. In a
 * process of its own: the heap that other tests leave decides which objects grow old. Usage: node churn-program.ts list|set
 */
import { createUnorderedList } from '../../src/fair/unordered-list.ts'
import { collectGarbage, promotedBy } from './promoted.ts'

/** So many items come and go, three at a time. */
function churn(count: number, afterSome: () => void = () => {}): void {
  const there: object[] = []
  for (let n = 0; n < count; n += 1) {
    const item = { all: Array.from({ length: 100 }, (_, i) => [n + i]) }
    held.add(item)
    if (there.push(item) > 3) held.delete(there.shift() ?? item)
    if (n === 100) afterSome()
  }
  for (const item of there) held.delete(item)
}

const held = process.argv[2] === 'set' ? new Set<object>() : createUnorderedList<object>()
churn(1_000, collectGarbage)
console.log(await promotedBy(() => churn(20_000)))
