import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createTwins } from '../../test/twins.ts'
import { enqueueJobs } from '../jobs/job-store.ts'
import { isBusy } from './move-store.ts'

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
      insert into deliveries (company_id, registration_id, wamid, claim_id, lease_until)
      values (${companyId}, 1, 'w', gen_random_uuid(), now() + interval '1 minute')
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
    conversations: [[1, '39333', 1, 'open']],
  })
  await begin(twinId)
  expect([await isBusy(db, companyId, 5), await isBusy(db, twinId, 5)]).toEqual([false, true])
})
