import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { countCustomer, createTwins, keepsRows } from '../../../test/twins.ts'
import { eraseDailyLimitEntries, expireDailyLimitEntries } from './daily-limit-store.ts'

// Companies whose customers and messages have the same ids.
const { db } = await createTestDatabase()
const CUSTOMER = '39333'

const createCustomers = () => createTwins(db, { customers: [[1, 1, CUSTOMER]], contacts: [[1, CUSTOMER, CUSTOMER]] })

const usedOf = async (companyId: number) =>
  (await db`select used from daily_limits where company_id = ${companyId}`)[0]?.used

test('a customer is erased from the daily limits of the company', async () => {
  const { companyId, twinId } = await createCustomers()
  for (const id of [companyId, twinId]) await countCustomer(db, id, 1)
  await keepsRows(db, twinId, () => eraseDailyLimitEntries(db, companyId, 1))
  expect(await db`select from daily_limit_entries where company_id = ${companyId}`).toHaveLength(0)
  expect(await usedOf(companyId)).toBe(0)
})

test('old entries of a daily limit are deleted, and newer ones of another company are kept', async () => {
  const { companyId, twinId } = await createCustomers()
  await countCustomer(db, companyId, 26)
  await countCustomer(db, twinId, 1)
  await keepsRows(db, twinId, () => expireDailyLimitEntries(db, 100, new Date()))
  expect(await db`select from daily_limit_entries where company_id = ${companyId}`).toHaveLength(0)
  expect(await usedOf(companyId)).toBe(0)
})
