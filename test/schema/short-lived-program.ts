/**
 * Runs a statement many times, as itself or as a transaction, and prints the bytes of each run that grow old, of five
 * measurements. In a process of its own: what other tests have left in theirs grows old, too. Usage: node
 * short-lived-program.ts DATABASE_URL statements|transactions
 */
import { connect, type Db } from '../../src/db/connect.ts'
import { promotedBy } from './promoted.ts'

const [, , url = '', form] = process.argv
const RUNS = 2_000
const db = connect(url, { max: 2 })
const words = (one: Db) => one`select repeat(${'x'.repeat(900)}, 1) as words from generate_series(1, 20)`
const measured: number[] = []
while (measured.length < 5) {
  const promoted = await promotedBy(async () => {
    for (let i = 0; i < RUNS; i += 1) await (form === 'transactions' ? db.begin(words) : words(db))
  })
  measured.push(promoted / RUNS)
}
console.log(JSON.stringify(measured))
await db.end()
