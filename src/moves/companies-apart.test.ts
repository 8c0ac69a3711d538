import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createTwins } from '../../test/twins.ts'
import { IDS_A_MONTH, monthOf } from '../conversations/message-store.ts'
import { carryUploads } from '../media/uploads/upload-store.ts'
import { enqueueJobs } from '../queue/job-store.ts'
import { advanceSequences, hasHashedOptOuts, isBusy, makeMonthsOf, movedBlobsOf } from './move-store.ts'

const { db } = await createTestDatabase()

test.each([
  [
    'a leased job',
    async (companyId: number) => {
      await enqueueJobs(db, [{ kind: 'test', lane: 'test', companyId, subjectId: 1 }])
      await db`
        update jobs set claim_id = gen_random_uuid(), lease_until = now() + interval '1 minute'
        where company_id = ${companyId}
      `
    },
  ],
  [
    'a leased delivery',
    (companyId: number) => db`
      insert into deliveries (company_id, registration_id, event, event_id, claim_id, lease_until)
      values (${companyId}, 1, 'e', 'w', gen_random_uuid(), now() + interval '1 minute')
    `,
  ],
  [
    'a pending message',
    (companyId: number) => db`
      insert into messages (company_id, conversation_id, seq, direction, type, status)
      values (${companyId}, 1, 1, 'outbound', 'text', 'pending')
    `,
  ],
  [
    'a request in flight',
    (companyId: number) => db`
      insert into idempotency_keys (company_id, client_id, method, path, key, digest, lease_until)
      values (${companyId}, 'client', 'POST', '/send', 'key', '', now() + interval '1 minute')
    `,
  ],
])('%s keeps its company busy, and no other one', async (_, begin) => {
  const { companyId, twinId } = await createTwins(db, {
    contacts: [[1, '39333', '39333']],
    customers: [[1, 1, '39333']],
    conversations: [[1, 1, 'open']],
  })
  await begin(twinId)
  expect([await isBusy(db, companyId, 5), await isBusy(db, twinId, 5)]).toEqual([false, true])
})

test('the files of a move are those of the company', async () => {
  const { companyId, twinId } = await createTwins(db, {
    contacts: [[1, '39333', '39333']],
    customers: [[1, 1, '39333']],
    conversations: [[1, 1, 'open']],
  })
  for (const id of [companyId, twinId]) {
    await db`
      insert into messages (company_id, id, conversation_id, seq, direction, type, status)
      overriding system value
      values (${id}, 1, 1, 1, 'inbound', 'image', 'received')
    `
    await db`
      insert into media (company_id, message_id, sender_id, provider_media_id, state, storage_key, size_bytes, sha256)
      values (${id}, 1, 1, 'media', 'stored', ${`media of ${id}`}, 1, '')
    `
    await db`
      insert into uploads (company_id, id, storage_key, mime_type, size_bytes, sha256)
      values (${id}, 'med_1', ${`upload of ${id}`}, 'image/png', 1, '')
    `
    await db`
      insert into messages (company_id, id, conversation_id, seq, direction, type, status)
      overriding system value
      values (${id}, 2, 1, 2, 'outbound', 'image', 'sent')
    `
    await carryUploads(db, [{ companyId: id, messageId: 2, senderId: 1, uploadId: 'med_1' }])
    await db`
      insert into contact_imports (company_id, format, columns, storage_key, size_bytes, rows, read_bytes, read_lines)
      values (${id}, 'csv', '{email}', ${`list of ${id}`}, 1, 1, 0, 0)
    `
  }
  const keys = await db.begin(async (tx) => {
    const found: string[] = []
    for await (const blobs of movedBlobsOf(tx, companyId)) found.push(...blobs.map(({ key }) => key))
    return { found }
  })
  expect(keys.found).toEqual([`media of ${companyId}`, `upload of ${companyId}`, `list of ${companyId}`])
})

test('ids go on after those of the company that was moved', async () => {
  const { companyId, twinId } = await createTwins(db, { contacts: [[70, '39333', '39333']] })
  await db`insert into contacts (company_id, id, source, source_type) values (${twinId}, 700, 'test', 'test')`
  const day = Math.floor(Date.now() / 86_400_000)
  for (const [id, place] of [[companyId, 70] as const, [twinId, 700] as const]) {
    const deliveryId = (day + 1) * 1_000_000_000 + place
    await db`
      insert into deliveries (company_id, id, day, registration_id, event, event_id)
      values (${id}, ${deliveryId}, ${day + 1}, 1, 'e', 'w')
    `
  }
  await db.begin((tx) => advanceSequences(tx, companyId))
  const [next] = await db`
    select nextval('contacts_id_seq')::integer as contact, nextval('delivery_ids')::integer as delivery
  `
  expect(next).toEqual({ contact: 71, delivery: 71 })
})

test('messages that move get the partitions of their months, and ids go on after theirs', async () => {
  const { companyId, twinId } = await createTwins(db)
  const [month, present] = [600, monthOf(new Date())]
  const rows = [month, present].map((one) => JSON.stringify({ id: one * IDS_A_MONTH + 900_000 }))
  await db.begin(async (tx) => {
    expect(await makeMonthsOf(tx, ['{"id":7}', ...rows], 1e15)).toBe(true)
    expect(await makeMonthsOf(tx, ['{"id":1000000000000001}'], 1e15)).toBe(false)
  })
  for (const [id, place] of [[companyId, 900_000] as const, [twinId, 9_000_000] as const])
    for (const one of [month, present])
      await db`
        insert into messages (company_id, id, conversation_id, seq, direction, type, status)
        values (${id}, ${one * IDS_A_MONTH + place}, 1, ${one}, 'inbound', 'text', 'received')
      `
  await db.begin((tx) => advanceSequences(tx, companyId))
  const [next] = await db<[{ id: number }]>`select next_message_id() as id`
  expect(next.id % IDS_A_MONTH).toBe(900_001)
})

test('a move needs the key of opt-outs when the company has opt-outs of erased persons', async () => {
  const { companyId, twinId } = await createTwins(db)
  await db`
    insert into consents (company_id, channel, identity, value, said_at, source)
    values (${twinId}, 'email', 'hash:1', false, now(), 'erasure')
  `
  expect([await hasHashedOptOuts(db, companyId), await hasHashedOptOuts(db, twinId)]).toEqual([false, true])
})
