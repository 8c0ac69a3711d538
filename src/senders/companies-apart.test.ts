import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createTwins, keepsRows } from '../../test/twins.ts'
import { applyMarketingTerms } from './account-event-store.ts'
import { deleteRoute, insertRoute, markAllSendersRemoved, restoreSender } from './sender-store.ts'

// The companies share sender ids, numbers and accounts.
const { db } = await createTestDatabase()

/** Two companies with a sender, to which events of a number id lead. */
async function createRoutes() {
  const twins = await createTwins(db)
  for (const companyId of [twins.companyId, twins.twinId]) await insertRoute(db, companyId, 1, `PN${companyId}`)
  return twins
}

const routesOf = (companyId: number) => db`select from sender_routes where company_id = ${companyId}`

test('terms that a provider reports are those of an account of the company', async () => {
  const { companyId, twinId } = await createTwins(db)
  const terms = { companyId, wabaAccountId: 'WABA', isSigned: true, at: new Date() }
  await keepsRows(db, twinId, () => applyMarketingTerms(db, [terms]))
  expect([...(await db`select marketing_terms_signed from senders where company_id = ${companyId}`)]).toEqual([
    { marketingTermsSigned: true },
  ])
})

test('events of a removed sender lead to it no longer, and events of other companies to theirs', async () => {
  const { companyId, twinId } = await createRoutes()
  await keepsRows(db, twinId, () => deleteRoute(db, companyId, 1))
  expect(await routesOf(companyId)).toHaveLength(0)
})

test('the removal of a company removes its senders alone', async () => {
  const { companyId, twinId } = await createRoutes()
  await keepsRows(db, twinId, () => markAllSendersRemoved(db, companyId))
  expect(await routesOf(companyId)).toHaveLength(0)
})

test('a sender is restored, though another company removed one with its number later', async () => {
  const { companyId, twinId } = await createTwins(db)
  await db`
    update senders set phone_number_id = 'PN', deleted_at = now() - interval '1 day' where company_id = ${companyId}
  `
  await db`select setval('senders_id_seq', 1000)`
  await db`delete from sender_limits where company_id = ${twinId}`
  await db`update senders set id = default, phone_number_id = 'PN', deleted_at = now() where company_id = ${twinId}`
  const restored = await keepsRows(db, twinId, () => restoreSender(db, companyId, 'PN'))
  expect(restored?.id).toBe(1)
})
