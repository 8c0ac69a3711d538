import { expect, test } from 'vitest'
import { connect } from '../../src/db/connect.ts'
import { recordInbound } from '../../src/inbound/handling/batch/record-inbound.ts'
import { prepareSends } from '../../src/sends/batch/send-batches.ts'
import { startCutProxy } from '../cut-proxy.ts'
import { createTestDatabase } from '../database.ts'
import { createCompany, createSender, messageTo } from '../world.ts'

const NOON = new Date('2026-11-21T12:00:00Z')

/** Counts round trips with prepared statements. */
async function countedCompany() {
  const { db, url } = await createTestDatabase({ mirrors: true })
  const companyId = await createCompany(db)
  const senderId = await createSender(db, companyId)
  const proxy = await startCutProxy(url)
  const one = connect(proxy.url, { max: 1 })
  return { db, one, companyId, senderId, count: proxy.roundTripsOf }
}

test('a send takes two round trips, to a new person, a known one and one whose contact was deleted', async () => {
  const { db, one, companyId, senderId, count } = await countedCompany()
  const detach = () => db`update contacts set deleted_at = now() where company_id = ${companyId}`
  const sendTo = (phone: string) => count(() => prepareSends(one, [messageTo(companyId, senderId, phone)], NOON))
  for (const n of [1, 1, 2, 2]) await sendTo(`39333100${n}`)
  await detach()
  for (const n of [1, 2]) await sendTo(`39333100${n}`)
  await detach()
  expect(await sendTo('393331003')).toBe(2)
  expect(await sendTo('393331003')).toBe(2)
  expect(await sendTo('393331002')).toBe(2)
  await one.end()
})

test('a message takes four round trips from a known person, and two more from a new one', async () => {
  const { one, companyId, senderId, count } = await countedCompany()
  let wamids = 0
  const message = (phone: string) => {
    wamids += 1
    return {
      ...({ kind: 'message', companyId, senderId, account: 'WABA1', phone, userId: null, groupId: null } as const),
      ...{ profileName: 'Ada', wamid: `wamid.${wamids}`, type: 'text', messageKind: null, text: 'Hello', media: null },
      ...{ content: null, context: null, error: null, quotedWamid: null, targetWamid: null, emoji: null },
      ...{ sentAt: NOON, arrivedAt: NOON, opensWindow: true, senderName: null },
    }
  }
  const receiveFrom = (phone: string) =>
    count(() => one.begin((tx) => recordInbound(tx, [message(phone)], { sourceType: 'webhook', at: NOON })))
  for (const n of [1, 1, 2, 2]) await receiveFrom(`39333100${n}`)
  expect(await receiveFrom('393331003')).toBe(6)
  expect(await receiveFrom('393331003')).toBe(4)
  await one.end()
})
