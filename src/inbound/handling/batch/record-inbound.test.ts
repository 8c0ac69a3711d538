import { afterAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../../../test/database.ts'
import { createCompany, createSender, messageFrom, record } from '../../../../test/world.ts'
import { readConversationTotal } from '../../../conversations/list/conversation-list-store.ts'
import { connect } from '../../../db/connect.ts'

const { db, url } = await createTestDatabase({ mirrors: true })
const connections = Array.from({ length: 3 }, () => connect(url, { max: 1 }))
afterAll(() => Promise.all(connections.map((one) => one.end())))

/** Opens two connections that count in separate rows, like most pairs. */
async function twoWriters() {
  const byRow = new Map<number, (typeof connections)[number]>()
  for (const connection of connections) {
    const [row] = await connection<{ writer: number }[]>`select pg_backend_pid() % 16 as writer`
    byRow.set(row!.writer, connection)
  }
  const [first, second] = byRow.values()
  return [first!, second!] as const
}

test('new conversations of one company do not wait for each other’s transactions, and are all counted', async () => {
  const companyId = await createCompany(db)
  const senderId = await createSender(db, companyId)
  const [first, second] = await twoWriters()
  await first.begin(async (tx) => {
    await record(tx, [messageFrom(companyId, senderId, '393331110001')], new Date())
    await second.begin(async (other) => {
      await other`set local lock_timeout = '2s'`
      const two = ['393331110002', '393331110003'].map((customer) => messageFrom(companyId, senderId, customer))
      await record(other, two, new Date())
    })
  })
  expect(await readConversationTotal(db, companyId)).toBe(3)
})

test('a message to a known conversation writes no index entry of the conversation', async () => {
  const companyId = await createCompany(db)
  const senderId = await createSender(db, companyId)
  const [session] = connections as [(typeof connections)[number]]
  const updates = async () => {
    await session`select pg_stat_force_next_flush()`
    const [row] = await session<{ all: number; hot: number }[]>`
      select n_tup_upd::int as all, n_tup_hot_upd::int as hot from pg_stat_user_tables where relname = 'conversations'
    `
    return row!
  }
  const write = (n: number) => ({
    ...messageFrom(companyId, senderId, '393331110001'),
    wamid: `wamid.${companyId}.${n}`,
  })
  await record(session, [write(0)], new Date())
  const before = await updates()
  for (let n = 1; n <= 10; n += 1) await record(session, [write(n)], new Date())
  const after = await updates()
  // The conversation and its mirror.
  expect({ all: after.all - before.all, hot: after.hot - before.hot }).toEqual({ all: 20, hot: 20 })
})
