import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createTwins, keepsRows } from '../../test/twins.ts'
import { findMedia, insertMedia, markErased, markLost, recordFailedCopy } from './media-store.ts'

// Companies whose messages have the same ids, in conversations of senders with other ids.
const { db } = await createTestDatabase()

async function createMessages() {
  const { companyId, twinId } = await createTwins(db, {
    contacts: [[1, '39333', '39333']],
    customers: [[1, 1, '39333']],
    identities: [['39333', 1]],
    conversations: [[1, 1, 'open']],
  })
  await db`
    insert into senders (
      company_id, id, provider, phone_number, phone, phone_name, phone_number_id, waba_account_id, access_token
    )
    overriding system value
    values (${twinId}, 2, 'meta', '+2', '2', 'Acme', ${`PN2${twinId}`}, 'WABA', 'secret')
  `
  await db`update conversations set sender_id = 2 where company_id = ${twinId}`
  for (const id of [companyId, twinId]) {
    const media = { providerMediaId: `media of ${id}` }
    await db`
      insert into messages (company_id, id, conversation_id, seq, direction, type, status, media)
      overriding system value
      values (${id}, 1, 1, 1, 'inbound', 'image', 'received', ${db.json(media)})
    `
  }
  return { companyId, twinId }
}

const noted = (companyId: number) => ({ companyId, messageId: 1, storageKey: `key of ${companyId}` })

test('media are noted with the sender and the address of their company', async () => {
  const { companyId, twinId } = await createMessages()
  expect(await insertMedia(db, [noted(companyId)])).toEqual([{ companyId, senderId: 1, messageId: 1 }])
  expect(await insertMedia(db, [noted(twinId)])).toEqual([{ companyId: twinId, senderId: 2, messageId: 1 }])
  for (const id of [companyId, twinId]) {
    expect(await findMedia(db, id, 1)).toMatchObject({ companyId: id, providerMediaId: `media of ${id}` })
  }
})

test('a copy that fails is that of a message of the company', async () => {
  const { companyId, twinId } = await createMessages()
  await insertMedia(db, [noted(companyId), noted(twinId)])
  await keepsRows(db, twinId, () => recordFailedCopy(db, companyId, 1, 'the provider answered 500'))
  await keepsRows(db, twinId, () => markLost(db, companyId, 1, 'gone', 'the provider answered 404'))
  expect((await findMedia(db, companyId, 1))?.state).toBe('gone')
})

test('an erasure finds and erases copies of the company', async () => {
  const { companyId, twinId } = await createMessages()
  await insertMedia(db, [noted(companyId), noted(twinId)])
  await keepsRows(db, twinId, () => markErased(db, companyId, [1]))
  expect(await db`select company_id, storage_key from discarded_files`).toEqual([
    { companyId, storageKey: `key of ${companyId}` },
  ])
  expect((await findMedia(db, companyId, 1))?.providerMediaId).toBe('')
})
