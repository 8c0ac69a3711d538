import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { createCompany, register } from '../../../test/webhook-fixture.ts'
import type { DirectDispatch } from '../../queue/job.ts'
import { DELIVER, deliveryLaneOf } from '../deliveries/delivery-store.ts'
import { forwardMessages } from './message-received.ts'

const { db } = await createTestDatabase({ mirrors: true })

test('deliveries are leased to the worker that dispatches them, but for lanes that are full or have others waiting', async () => {
  const companyId = await createCompany(db)
  const [one, full, crowded] = [
    await register(db, companyId),
    await register(db, companyId),
    await register(db, companyId),
  ]
  const message = (wamid: string) => ({
    companyId,
    wamid,
    messageId: null,
    senderId: 1,
    conversationId: null,
    body: '{}',
  })
  const accepted: DirectDispatch = {
    kind: DELIVER,
    fullLanes: [deliveryLaneOf(companyId, full.id)],
    leaseMs: 15_000,
    madeAtMs: 0,
  }
  await db`
    insert into deliveries (company_id, registration_id, event, event_id, due_at)
    values (${companyId}, ${crowded.id}, 'e', 'w0', now() + interval '1 minute')
  `
  const { leased, waiting } = await forwardMessages(db, [message('w1'), message('w2')], accepted)
  expect(waiting).toHaveLength(4)
  expect(leased.map(({ lane }) => lane)).toEqual([deliveryLaneOf(companyId, one.id), deliveryLaneOf(companyId, one.id)])
  expect(new Set(leased.map(({ claimId }) => claimId)).size).toBe(1)
  const rows = await db`
    select id, claim_id, ${DELIVER} as kind, lane, company_id, id as subject_id, due_at, attempts, created_at
    from deliveries
    where company_id = ${companyId} and lease_until > now() + interval '10 s'
    order by id
  `
  expect(rows).toEqual(leased)
  const others = await db`
    select from deliveries where company_id = ${companyId} and claim_id is null and event_id <> 'w0'
  `
  expect(others).toHaveLength(4)

  expect(await forwardMessages(db, [message('w4')])).toMatchObject({ leased: [], waiting: { length: 3 } })
})
