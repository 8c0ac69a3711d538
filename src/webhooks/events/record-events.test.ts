import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { createCompany, register } from '../../../test/webhook-fixture.ts'
import { systemClock } from '../../platform/clock.ts'
import { createRecordEvents } from './record-events.ts'

const { db } = await createTestDatabase()

test('makes at most 500 deliveries in one statement, and one for each change and receiver', async () => {
  const companyId = await createCompany(db)
  const receivers = 30
  for (let n = 0; n < receivers; n += 1) await register(db, companyId, { events: ['contact.changed'] })
  const contacts = await db<{ id: number }[]>`
    insert into contacts (company_id, email, source, source_type)
    select ${companyId}, 'ada' || n || '@example.com', 'api', 'api' from generate_series(1, 40) as n
    returning id
  `
  const counted: number[] = []
  const events = createRecordEvents({
    clock: systemClock,
    mediaAddress: () => '',
    subscribedEvents: { has: () => true, receivers: () => receivers },
    onDeliveries: (_, count) => void counted.push(count),
  })
  await db.begin((tx) =>
    events.publish(
      tx,
      contacts.map(({ id }) => ({ event: 'contact.changed', companyId, id, change: 'updated' })),
    ),
  )
  const statements = await db<{ count: number }[]>`
    select count(*)::integer as count from deliveries where company_id = ${companyId} group by cmin
  `
  expect(Math.max(...statements.map(({ count }) => count))).toBeLessThanOrEqual(500)
  expect(counted).toEqual([receivers * contacts.length])
})
