import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { untilBlocked } from '../../../test/held-locks.ts'
import { completed, NOON } from '../../../test/sends/batch-world.ts'
import { createCompany, createSender, messageTo } from '../../../test/world.ts'
import { type Db, pinPlans } from '../../db/connect.ts'
import { prepareSends } from './send-batches.ts'
import { completeSends } from './send-write-store.ts'

const { db } = await createTestDatabase()

test('locks the messages of completed sends in the order of their keys', async () => {
  const companyId = await createCompany(db)
  const senderId = await createSender(db, companyId)
  const sends = ['393331234567', '393331234568'].map((phone) => messageTo(companyId, senderId, phone))
  const prepared = await prepareSends(db, sends, NOON)
  const ids = prepared.flatMap((one) => ('messageId' in one ? [one.messageId] : []))
  const [first, second] = ids.toSorted((one, other) => one - other) as [number, number]
  await makeLarge(first)
  const [release, isHeld] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const lock = (tx: Db, id: number) =>
    tx`select from messages where (company_id, id) = (${companyId}::bigint, ${id}::bigint) for no key update nowait`
  const holding = db.begin(async (tx) => {
    await lock(tx, first)
    isHeld.resolve()
    await release.promise
    await lock(tx, second)
  })
  await isHeld.promise
  const completing = db.begin(async (tx) => {
    await pinPlans(tx, 60_000)
    await completeSends(tx, [completed(companyId, second), completed(companyId, first)], NOON)
  })
  await untilBlocked(db)
  release.resolve()
  await Promise.all([holding, completing])
  const statuses = await db`select status from messages where company_id = ${companyId} and id = any(${ids}::bigint[])`
  expect(statuses).toEqual([{ status: 'sent' }, { status: 'sent' }])
})

/** Copies a message, so that the planner looks up each by its key instead of reading all. */
async function makeLarge(messageId: number): Promise<void> {
  await db`
    insert into messages
    select copy.*
    from messages message
    cross join generate_series(1, 5000) as n
    cross join lateral jsonb_populate_record(
      message, jsonb_build_object('id', message.id + 1000 + n, 'seq', message.seq + 1000 + n)
    ) as copy
    where message.id = ${messageId}
  `
  await db`analyze messages`
}
