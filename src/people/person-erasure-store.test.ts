import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createTwins, keepsRows } from '../../test/twins.ts'
import { detachCustomerOf, detachCustomers } from './person-erasure-store.ts'

// Companies whose contacts, customers and conversations have the same ids.
const { db } = await createTestDatabase()

const createPeople = () =>
  createTwins(db, {
    contacts: [
      [1, '39333', '39333'],
      [2, '39444', '39444'],
    ],
    customers: [
      [1, 1, '39333'],
      [2, 1, null],
    ],
    identities: [
      ['39333', 1],
      ['IT.1', 1],
      ['#group', 2],
    ],
    conversations: [
      [1, 1, 'open', 'IT.1'],
      [2, 2, 'open'],
    ],
  })

async function customersOf(companyId: number) {
  const [row] = await db`
    select
      array(select identity from customer_identities where company_id = ${companyId} order by identity) as identities,
      array(select coalesce(phone, '') from customers where company_id = ${companyId} order by id) as phones,
      array(select coalesce(user_id, '') from conversations where company_id = ${companyId} order by id) as user_ids
  `
  return row
}

test('an erased customer leaves the conversation and the identities of the company', async () => {
  const { companyId, twinId } = await createPeople()
  await keepsRows(db, twinId, () => db.begin((tx) => detachCustomerOf(tx, companyId, 1, 1)))
  expect(await customersOf(companyId)).toEqual({ identities: ['#group'], phones: ['', ''], userIds: ['', ''] })
})

test('a conversation keeps its customer while the erased contact has only the conversation of another company', async () => {
  const { companyId, twinId } = await createPeople()
  await db`update customers set contact_id = 2 where (company_id, id) = (${twinId}, 1)`
  await keepsRows(db, companyId, () => db.begin((tx) => detachCustomerOf(tx, companyId, 2, 1)))
})

test('a contact is detached from the conversations and the identities of its company', async () => {
  const { companyId, twinId } = await createPeople()
  await db`update customers set contact_id = 2 where (company_id, id) = (${companyId}, 2)`
  await keepsRows(db, twinId, () => db.begin((tx) => detachCustomers(tx, companyId, 1)))
  expect(await customersOf(companyId)).toEqual({ identities: ['#group'], phones: ['', ''], userIds: ['', ''] })
})
