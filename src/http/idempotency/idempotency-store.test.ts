import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { holdOpen } from '../../../test/held-locks.ts'
import { expireTable } from '../../../test/lifetimes.ts'
import { createTwins, keepsRows } from '../../../test/twins.ts'
import {
  eraseAnswers,
  recordAnswer,
  releaseKey,
  renewKeys,
  reserveKey,
  reserveNewKeys,
  storeProgress,
} from './idempotency-store.ts'

// Companies whose Idempotency-Keys have the same ids.
const { db } = await createTestDatabase()
const ANSWER = { status: 410, text: '{"code":"erased"}' }

/** Two companies with a key in flight. */
async function createKeys() {
  const { companyId, twinId } = await createTwins(db, {
    contacts: [
      [1, '39333', '39333'],
      [2, '39444', '39444'],
    ],
    customers: [[1, 1, '39333']],
    identities: [['39333', 1]],
    conversations: [[1, 1, 'open']],
  })
  for (const id of [companyId, twinId]) {
    await db`
      insert into idempotency_keys (company_id, id, client_id, method, path, key, digest, lease_until)
      overriding system value
      values (${id}, 1, 'client', 'POST', '/send', 'key', '', now() + interval '1 minute')
    `
  }
  return { companyId, twinId }
}

const keysOf = (companyId: number) => db`
  select answer_status, progress from idempotency_keys where company_id = ${companyId}
`

const request = (companyId: number, key: string, body = 1) => ({
  ...{ companyId, clientId: 'client', method: 'POST', path: '/send', key, digest: Buffer.alloc(32, body) },
})

test('keys are reserved together, each for its own company; of equal requests the first one has the key', async () => {
  const { companyId, twinId } = await createTwins(db)
  const [first, other, equal, ofTwin] = await reserveNewKeys(db, [
    request(companyId, 'b'),
    request(companyId, 'a'),
    request(companyId, 'b'),
    request(twinId, 'a'),
  ])
  expect(equal).toBeUndefined()
  const rows = await db`
    select id, company_id, octet_length(digest) as bytes
    from idempotency_keys
    where company_id in (${companyId}, ${twinId})
  `
  expect(Object.fromEntries(rows.map((row) => [row.id, [row.companyId, row.bytes]]))).toEqual({
    [first!]: [companyId, 32],
    [other!]: [companyId, 32],
    [ofTwin!]: [twinId, 32],
  })
  expect(await reserveKey(db, request(companyId, 'b'))).toEqual({ state: 'running' })
  expect(await reserveKey(db, request(companyId, 'b', 2))).toEqual({ state: 'reused' })
})

test('a key that is taken is left out, also while a transaction changes it', async () => {
  const { companyId } = await createTwins(db)
  const [id] = await reserveNewKeys(db, [request(companyId, 'taken')])
  const release = await holdOpen(db, (tx) => recordAnswer(tx, companyId, id!, 200, '{}'))
  const [taken, fresh] = await reserveNewKeys(db, [request(companyId, 'taken'), request(companyId, 'new')])
  expect([taken, typeof fresh]).toEqual([undefined, 'number'])
  await release()
})

test('progress and answer of a request are kept under the key of its company', async () => {
  const { companyId, twinId } = await createKeys()
  await keepsRows(db, twinId, () => storeProgress(db, companyId, 1, { place: 1 }))
  await keepsRows(db, twinId, () => recordAnswer(db, companyId, 1, 200, '{}'))
  expect([...(await keysOf(companyId))]).toEqual([{ answerStatus: 200, progress: { place: 1 } }])
})

test('a key of the company is released', async () => {
  const { companyId, twinId } = await createKeys()
  await keepsRows(db, twinId, () => releaseKey(db, companyId, 1))
  expect(await keysOf(companyId)).toHaveLength(0)
})

test('a key with progress is released for a repeat of its own company', async () => {
  const { companyId, twinId } = await createKeys()
  for (const id of [companyId, twinId]) await storeProgress(db, id, 1, { place: 1 })
  await keepsRows(db, twinId, () => releaseKey(db, companyId, 1))
  expect(await keysOf(companyId)).toHaveLength(1)
})

test('a lease is renewed for the running request of its company', async () => {
  const { companyId, twinId } = await createKeys()
  await keepsRows(db, twinId, () => renewKeys(db, [{ companyId, id: 1 }]))
})

test('keys are forgotten after 48 hours, though another company has a newer one with the id', async () => {
  const { companyId, twinId } = await createKeys()
  await db`update idempotency_keys set created_at = now() - interval '49 hours' where company_id = ${companyId}`
  await keepsRows(db, twinId, () => expireTable(db, 'idempotency_keys'))
  expect(await keysOf(companyId)).toHaveLength(0)
})

test('an erasure replaces the answers of its company that hold a text of the person', async () => {
  const { companyId, twinId } = await createKeys()
  for (const id of [companyId, twinId]) await recordAnswer(db, id, 1, 200, '{"to":"39333"}')
  const person = { contactId: 1, texts: ['39333'] }
  await keepsRows(db, twinId, () => eraseAnswers(db, companyId, person, ANSWER, 0, 100))
  expect(await keysOf(companyId)).toMatchObject([{ answerStatus: 410 }])
})

test('an erasure keeps an answer, though another company has one with its id and a text of the person', async () => {
  const { companyId, twinId } = await createKeys()
  await recordAnswer(db, companyId, 1, 200, '{}')
  await recordAnswer(db, twinId, 1, 200, '{"to":"39333"}')
  await eraseAnswers(db, companyId, { contactId: 9, texts: ['39333'] }, ANSWER, 0, 100)
  expect(await keysOf(companyId)).toMatchObject([{ answerStatus: 200 }])
})

test('an erasure replaces answers about messages to the contact in its company', async () => {
  const { companyId, twinId } = await createKeys()
  await db`update customers set contact_id = 2 where company_id = ${twinId}`
  for (const id of [companyId, twinId]) {
    await db`
      insert into messages (company_id, id, conversation_id, seq, direction, type, status)
      overriding system value
      values (${id}, 1, 1, 1, 'outbound', 'text', 'sent')
    `
    await db`update idempotency_keys set message_id = 1 where company_id = ${id}`
    await recordAnswer(db, id, 1, 200, '{}')
  }
  const statusAfter = async (contactId: number) => {
    await eraseAnswers(db, companyId, { contactId, texts: [] }, ANSWER, 0, 100)
    return (await keysOf(companyId)).map((key) => key.answerStatus)
  }
  expect([await statusAfter(2), await statusAfter(1)]).toEqual([[200], [410]])
})
