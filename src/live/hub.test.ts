import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createTwins } from '../../test/twins.ts'
import { listActive } from './hub.ts'

const { db } = await createTestDatabase()

test('active conversations are those of the company', async () => {
  const { companyId } = await createTwins(db, {
    contacts: [[1, '39333', '39333']],
    customers: [[1, 1, '39333']],
    identities: [['39333', 1]],
    conversations: [[1, 1, 'open']],
  })
  const active = await listActive(db, companyId, new Date('2026-01-01T00:00:00Z'), 10)
  expect(active.map(({ conversationId }) => conversationId)).toEqual([1])
})
