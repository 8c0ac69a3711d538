import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { expectWhole, startCuttable } from '../../test/cuttable-pool.ts'
import type { Pool } from './connect.ts'
import { isDatabaseDown } from './pool/failure.ts'

const { db, cuttable, losses } = await startCuttable()

/** A transaction that writes under its own name, statement by statement, and its known outcome. */
async function write(pool: Pool, writer: string): Promise<'committed' | 'failed' | 'unknown'> {
  let isOver = false
  try {
    await pool.begin(async (tx) => {
      for (let row = 0; row < ROWS - 2; row += 1) {
        await tx`insert into notes (writer) values (${writer})`
        if (Math.random() < 0.3) await sleep(Math.random() * 5)
      }
      await tx.savepoint((save) => save`insert into notes (writer) values (${writer})`)
      await Promise.all([tx`select 1`, tx`insert into notes (writer) values (${writer})`, tx`select 2`])
      isOver = true
    })
    return 'committed'
  } catch (error) {
    expect(isDatabaseDown(error), String(error)).toBe(true)
    return isOver ? 'unknown' : 'failed'
  }
}

const ROWS = 6
const WRITERS = 24
const STORM_MS = Number(process.env.STORM_MS ?? 4_000)

test('among lost connections every transaction is whole or absent, and none writes into another', async () => {
  const { proxy, pool } = await cuttable({ max: 6 })
  const outcomes = new Map<string, string>()
  const startedAt = performance.now()
  const countOf = (outcome: string) => [...outcomes.values()].filter((one) => one === outcome).length
  const isOver = () => performance.now() - startedAt > STORM_MS && countOf('committed') > 20 && countOf('failed') > 5
  const writers = Array.from({ length: WRITERS }, async (_, who) => {
    for (let n = 0; !isOver(); n += 1) {
      const writer = `${who}-${n}`
      outcomes.set(writer, await write(pool, writer))
      await pool`select ${writer}::text as mine`.then(
        (rows) => expect(rows).toEqual([{ mine: writer }]),
        (error) => expect(isDatabaseDown(error), String(error)).toBe(true),
      )
    }
  })
  const storm = (async () => {
    while (!isOver()) {
      await sleep(Math.random() * 150)
      const [, lose] = losses[Math.floor(Math.random() * losses.length)]!
      const committed = countOf('committed')
      await lose(proxy)
      // On a busy machine connections are lost faster than transactions end.
      while (!isOver() && countOf('committed') === committed) await sleep(10)
    }
  })()
  await Promise.all([...writers, storm])

  const written = await db<{ writer: string; count: number; xids: number }[]>`
    select writer, count(*)::int, count(distinct xid)::int as xids from notes group by writer
  `
  const [shared] = await db<{ count: number }[]>`
    select count(*)::int from (select from notes group by xid having count(distinct writer) > 1) as mixed
  `
  const counts = new Map(written.map(({ writer, count }) => [writer, count]))
  const wrong = [...outcomes].filter(([writer, outcome]) => {
    const count = counts.get(writer) ?? 0
    if (outcome === 'committed') return count !== ROWS
    return outcome === 'failed' ? count !== 0 : count !== 0 && count !== ROWS
  })
  expect(wrong).toEqual([])
  expect(shared).toEqual({ count: 0 })
  // Rows that follow each other in one transaction; a savepoint's carry the number of the whole.
  expect(written.filter(({ xids }) => xids !== 1)).toEqual([])
  await db`truncate notes`
  await expectWhole(pool)
})
