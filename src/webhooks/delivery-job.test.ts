import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createCompany, register } from '../../test/webhook-fixture.ts'
import type { Offer } from '../jobs/job.ts'
import { forwardMessages } from './delivery-job.ts'
import { DELIVER } from './delivery-store.ts'

const { db } = await createTestDatabase()

test('deliveries that a worker takes over are leased, but for what is full or has others waiting', async () => {
  const companyId = await createCompany(db)
  const [one, full, crowded] = [
    await register(db, companyId),
    await register(db, companyId),
    await register(db, companyId),
  ]
  const message = (wamid: string) => ({ companyId, wamid, messageId: null, body: '{}' })
  const offer: Offer = {
    kind: DELIVER,
    fullLanes: [String(full.id)],
    fullCompanies: [],
    leaseMs: 15_000,
    madeAtMs: 0,
  }
  await db`
    insert into jobs (kind, lane, company_id, subject_id, due_at)
    values (${DELIVER}, ${String(crowded.id)}, ${companyId}, 1, now() + interval '1 minute')
  `
  const { taken, waiting } = await forwardMessages(db, [message('w1'), message('w2')], offer)
  expect(waiting).toBe(4)
  expect(taken.map(({ lane }) => lane)).toEqual([String(one.id), String(one.id)])
  expect(new Set(taken.map(({ claimId }) => claimId)).size).toBe(1)
  const leased = await db`
    select id, claim_id, kind, lane, company_id, subject_id, due_at, attempts, created_at
    from jobs
    where company_id = ${companyId} and lease_until > now() + interval '10 s'
    order by id
  `
  expect(leased).toEqual(taken)
  const waitingJobs = await db`
    select from jobs where company_id = ${companyId} and claim_id is null and subject_id <> 1
  `
  expect(waitingJobs).toHaveLength(4)

  const whole: Offer = { ...offer, fullLanes: [], fullCompanies: [companyId] }
  expect(await forwardMessages(db, [message('w3')], whole)).toEqual({ taken: [], waiting: 3 })
  expect(await forwardMessages(db, [message('w4')])).toEqual({ taken: [], waiting: 3 })
})
